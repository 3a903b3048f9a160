type Component = { name: string; version: string; license: string; integrity: string }
/** Packages of others that are needed at run time. */
export function components(lock: unknown): Component[]
/** As CycloneDX 1.6. */
export function sbom(
  lock: unknown,
  version: string,
): { components: { name: string; version: string; purl: string; hashes?: { content: string }[] }[] }
/** Licence → packages. */
export function licences(lock: unknown): Map<string, Component[]>
