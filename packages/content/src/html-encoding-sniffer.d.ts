/** What of that package is used; it has no declarations of its own. */
declare module 'html-encoding-sniffer' {
  type Options = { xml?: boolean; transportLayerEncodingLabel?: string; defaultEncoding?: string }
  /** @returns a name of the WHATWG Encoding Standard */
  export default function htmlEncodingSniffer(bytes: Uint8Array, options?: Options): string
}
