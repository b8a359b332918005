import { expect, test } from 'vitest';
import { pipedCodes } from '../../src/cli/access/user-codes.ts';
import { pipedCode } from '../../src/cli/piped-code.ts';

/** Standard input that somebody holds open after these chunks. */
async function* open(...chunks: readonly string[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk);
  await new Promise(() => {});
}

test('one line is enough for one code, however it comes and whoever holds the input open', async () => {
  expect(await pipedCode(open('2580\n'))).toBe('2580');
  expect(await pipedCode(open('25', '80', '\r\n'))).toBe('2580');
});

test('as many lines as codes are wanted are enough', async () => {
  expect(await pipedCodes({ id: 'anna', duress: true, consent: false }, open('2580\n1', '379\n'))).toEqual({
    code: '2580',
    duress_code: '1379',
  });
});

test('what came with it beyond the code is refused', async () => {
  await expect(pipedCode(open('2580\n1379'))).rejects.toMatchObject({ code: 'code_refused' });
  await expect(pipedCode(open('2580\n\n'))).rejects.toMatchObject({ code: 'code_refused' });
});
