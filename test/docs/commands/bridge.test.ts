import { afterAll, beforeAll, describe } from 'vitest';
import { type Bridge, startBridge } from './bridge.ts';
import { backups, inputs, looking, outbox, people } from './bridge-rows.ts';
import { runRows } from './line.ts';

let stage: Bridge;
beforeAll(async () => {
  stage = await startBridge();
}, 120_000);
afterAll(() => stage?.close());

describe.each([
  { name: 'looking', rows: looking },
  { name: 'people', rows: people },
  { name: 'outbox', rows: outbox },
  { name: 'inputs', rows: inputs },
  { name: 'backups', rows: backups },
])('$name', ({ rows }) => runRows(rows, () => stage));
