// oxlint-disable-next-line no-restricted-imports -- a declaration loads nothing
export { z } from 'zod'
