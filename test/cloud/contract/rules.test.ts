import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cloudOperations } from '#cloud/contract/index.ts';
import type { Operation } from '#lib/contract/operation.ts';

/** Numbers of sections C to L that the checklist marks T or D: said by the specification, or following from it. */
const stated: Readonly<Record<string, readonly number[]>> = {
  dealers: [50, 51, 52, 54, 55, 56, 57, 58],
  sites: [60, 61, 62, 63, 66, 67, 68, 69, 70, 71, 72],
  'site list': [80, 82, 84, 87, 89, 91],
  'monitoring stations': [100, 102, 103],
  contacts: [110],
  devices: [120, 121, 122, 123, 125, 126, 127, 130, 132, 133, 134, 135, 136, 137],
  'arming and logs': [140, 144],
  verifications: [150, 151, 157],
  events: [160, 161, 163, 166, 167],
  'audio and public': [170, 171, 172, 174, 175, 177, 178],
};

const idOf = (number: number) => `S-${String(number).padStart(3, '0')}`;
const operations: readonly Operation[] = Object.values(cloudOperations);
const named = new Set(operations.flatMap((operation) => operation.rules));

describe('the rules of the checklist', () => {
  it.each(Object.entries(stated))('%s: each stated rule is named by an operation', (_, numbers) => {
    expect(numbers.map(idOf).filter((rule) => !named.has(rule))).toEqual([]);
  });

  const checklist = join(import.meta.dirname, '../../../../shared/spec/checklist.md');
  const rows = () =>
    [...readFileSync(checklist, 'utf8').matchAll(/^\| (S-(\d+)) \| ([TDG])/gm)].map(([, id, number, kind]) => ({
      id: id ?? '',
      number: Number(number),
      kind,
    }));

  it.skipIf(!existsSync(checklist))('of sections C to L are all named, the gaps too', () => {
    const missing = rows().filter(({ id, number }) => number >= 50 && number < 190 && !named.has(id));
    expect(missing).toEqual([]);
  });

  it.skipIf(!existsSync(checklist))('are the ones listed here as stated', () => {
    const listed = Object.values(stated).flat();
    const marked = rows().filter(({ number, kind }) => number >= 50 && number < 190 && kind !== 'G');
    expect(marked.map(({ number }) => number)).toEqual(listed);
  });

  it.skipIf(!existsSync(checklist))('that operations name exist', () => {
    const known = new Set(rows().map(({ id }) => id));
    expect([...named].filter((rule) => !known.has(rule))).toEqual([]);
  });
});
