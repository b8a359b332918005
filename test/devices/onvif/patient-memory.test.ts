import { expect, it } from 'vitest';
import { patiently } from '../../../src/devices/onvif/patient-memory.ts';

it('tells what the memory holds, also that it holds nothing, from a memory that fails', async () => {
  expect(await patiently(async () => 'kept')).toEqual({ value: 'kept' });
  expect(await patiently(async () => undefined)).toEqual({ value: undefined });
  const failures: unknown[] = [];
  const failed = (error: unknown) => void failures.push(error);
  expect(await patiently(() => Promise.reject(new Error('away')), { failed })).toBe(undefined);
  const gone = () => {
    throw new Error('gone');
  };
  expect(await patiently(gone, { failed })).toBe(undefined);
  expect(failures.map(String)).toEqual(['Error: away', 'Error: gone']);
});

it('leaves a memory that hangs, in its time or with the signal', async () => {
  const hangs = () => new Promise<never>(() => undefined);
  const failures: unknown[] = [];
  const failed = (error: unknown) => void failures.push(error);
  expect(await patiently(hangs, { ms: 1, failed })).toBe(undefined);
  expect(await patiently(hangs, { signal: AbortSignal.abort(new Error('stopped')), failed })).toBe(undefined);
  expect(failures).toMatchObject([{ code: 'deadline' }, { message: 'stopped' }]);
});
