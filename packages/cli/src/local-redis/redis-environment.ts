/** The environment that a server program is run with: that of this process, and the program's own libraries if it has any. */
export function redisEnvironment(binary: { libraries?: string }): NodeJS.ProcessEnv {
  return binary.libraries ? { ...process.env, LD_LIBRARY_PATH: binary.libraries } : process.env
}
