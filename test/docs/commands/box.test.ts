import { afterAll, beforeAll } from 'vitest';
import { type Box, commissioning, startBox } from './box.ts';
import { runRows } from './line.ts';

let box: Box;
beforeAll(async () => {
  box = await startBox();
}, 120_000);
afterAll(() => box?.close());

runRows(commissioning, () => box);
