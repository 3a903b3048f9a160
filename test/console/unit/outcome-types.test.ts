/** polars, DuckDB and Arrow take the type of a column from the first lines: each key of an outcome has values of one JSON type. */
import { OutcomeEvent } from '@decorum/console/inside'
import { expect, test } from 'vitest'
import { z } from 'zod'

type Schema = {
  $ref?: string
  $defs?: Record<string, Schema>
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  /** false: no more than `prefixItems` */
  items?: Schema | false
  prefixItems?: Schema[]
}
const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** The JSON types of each key, by its path, over all that a schema allows. */
function typesIn(schema: Schema, path = '', found = new Map<string, Set<string>>()): Map<string, Set<string>> {
  const add = (type: string): void => {
    const types = found.get(path) ?? new Set<string>()
    found.set(path, types.add(type))
  }
  if (schema.$ref !== undefined) throw new Error(`${path}: look into ${schema.$ref}, too`)
  for (const one of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) typesIn(one, path, found)
  for (const type of [schema.type ?? []].flat()) add(type)
  for (const value of [...(schema.enum ?? []), ...('const' in schema ? [schema.const] : [])]) add(kindOf(value))
  for (const [key, one] of Object.entries(schema.properties ?? {})) typesIn(one, `${path}.${key}`, found)
  for (const one of [...(schema.prefixItems ?? []), ...(schema.items ? [schema.items] : [])])
    typesIn(one, `${path}[]`, found)
  return found
}
const mixed = (schema: Schema): string[] =>
  [...typesIn(schema)]
    .filter(([, types]) => types.size !== 1)
    .map(([path, types]) => `${path}: ${[...types].sort().join()}`)

test('each key has one JSON type over outcomes of all kinds, also inside', () => {
  const whole = z.toJSONSchema(OutcomeEvent, { io: 'output' }) as Schema
  const schema = whole.$defs?.Outcome ?? whole
  const types = typesIn(schema)
  expect(mixed(schema)).toEqual([])
  expect([...types.keys()]).toEqual(
    expect.arrayContaining([
      '.kind',
      '.truncated',
      '.timing.totalMs',
      '.headers[][]',
      '.says.robots[]',
      '.tolerated[]',
      '.line',
    ]),
  )
  expect(types.get('.truncated')).toEqual(new Set(['string']))
  // polars takes 1 for an integer and stops at 2.5
  expect([...types].filter(([, of]) => of.has('number')).map(([path]) => path)).toEqual([])
})

test('a key with two types is found, in one kind and between kinds', () => {
  const cut = z.object({ a: z.union([z.literal(false), z.enum(['x'])]), b: z.object({ c: z.number().nullable() }) })
  expect(mixed(z.toJSONSchema(cut) as Schema)).toEqual(['.a: boolean,string', '.b.c: null,number'])
  const kinds = z.union([
    z.object({ kind: z.literal('p'), to: z.string() }),
    z.object({ kind: z.literal('q'), to: z.number() }),
  ])
  expect(mixed(z.toJSONSchema(kinds) as Schema)).toEqual(['.to: number,string'])
})
