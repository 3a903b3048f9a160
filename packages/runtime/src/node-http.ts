/**
 * `node:http` for ES modules. An `import` of it reads each of its properties, some of which load Node's own undici: 14 MB and 30 ms of CPU
 * in every process, measured 2026-11-23 with Node 24.21. Types may be imported; the linter refuses anything else.
 */
export const http = process.getBuiltinModule('node:http')
