/** Reads one field from a reply of INFO; '' when the field is missing. */
export const infoField = (info: string, name: string): string =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
