/** Lists of addresses as settings hold them: separated by commas or blanks, each an address or a range (CIDR). */
import { isIP } from 'node:net'

export type AddressRange = { address: string; bits: number; family: 'ipv4' | 'ipv6' }

export const entriesOf = (text: string): string[] => text.split(/[\s,]+/).filter((entry) => entry !== '')

/** @throws Error naming the first entry that is neither an address nor a range */
export function addressRanges(text: string): AddressRange[] {
  return entriesOf(text).map((entry) => {
    const [address = '', length, ...more] = entry.split('/')
    const most = isIP(address) === 6 ? 128 : 32
    const bits = length === undefined ? most : Number(length)
    const isRange = isIP(address) !== 0 && more.length === 0 && (length === undefined || /^\d{1,3}$/.test(length))
    if (!isRange || bits > most) throw new Error(`'${entry}' is neither an address nor a range such as 127.0.0.0/8`)
    return { address, bits, family: most === 128 ? 'ipv6' : 'ipv4' }
  })
}
