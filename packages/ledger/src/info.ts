/** A field of what INFO says; '' where there is none of that name. */
export const infoField = (info: string, name: string): string =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? ''
