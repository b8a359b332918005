import { constants, open } from 'node:fs/promises';

/** What is no regular file is not waited for: a pipe would hold one of the few threads for ever. Throws what the system throws. */
export async function readRegular(path: string): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new Error(`${path} is no regular file`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
