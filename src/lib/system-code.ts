/** What the system calls a failure, such as `ENOENT`; undefined for an error without a code in letters. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** There is no file or folder of this name. */
export const isMissing = (error: unknown): boolean => systemCode(error) === 'ENOENT';

/** For `catch`: undefined where there is nothing of this name; throws every other failure. */
export function unlessMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
