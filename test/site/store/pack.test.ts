import { describe, expect, it } from 'vitest';
import { lanes } from '#site/model/index.ts';
import { packer, unpacker } from '../../../src/site/store/pack.ts';
import type { StoreRequest } from '../../../src/site/store/protocol.ts';
import type { Commit } from '../../../src/site/store/types.ts';
import { wireCommit } from '../../../src/site/store/wire.ts';
import { commitOf, row } from './helpers.ts';

const picture = { index: 0, kind: 'snapshot', camera: 'front', offsetMs: -500 } as const;
const full: Commit = {
  rows: [
    ...lanes.map((lane, index) => row(index + 1, { lane })),
    row(5, { media: [picture, { ...picture, index: 1 }], toCloud: false, silent: true }),
    row(6, { body: 'ÄÖÜ 🚨' }),
  ],
  arming: [],
  inputs: ['{"a":1}', ''],
  state: ['{', '}'],
  reported: [{ lane: 'alarm', id: 3, seqFrom: 1, seqTo: 2 }],
  audit: [],
  verifications: [{ id: 'v1', at: 1, record: null }],
  silent: true,
};
const requests: StoreRequest[] = [
  { id: 1, op: 'commit', commit: wireCommit(commitOf([row(1)]), 1) },
  { id: 2, op: 'settle', verdicts: [{ seq: 1, lane: 'alarm', verdict: 'delivered', at: 1, tries: 1 }] },
  { id: 3, op: 'commit', commit: wireCommit(full, 2) },
  { id: 4, op: 'commit', commit: wireCommit({ rows: [], arming: [], inputs: ['line'] }, 3) },
  { id: 5, op: 'stats' },
  { id: 6, op: 'commit', commit: wireCommit({ ...full, state: ['{', '"a":1', '}', '}'] }, 4) },
  { id: 7, op: 'commit', commit: wireCommit({ ...full, state: [] }, 5) },
];

describe('requests that cross to the store thread', () => {
  it('arrive as they were, in their order', () => {
    const [pack, unpack] = [packer(), unpacker()];
    expect(unpack(structuredClone(pack(requests)))).toEqual(requests);
    expect(unpack(pack([]))).toEqual([]);
    expect(unpack(structuredClone(pack(requests)))).toEqual(requests);
  });

  it('cost the serialiser no object for each row', () => {
    const rows = [row(1), row(2), row(3)];
    const list = packer()([{ id: 1, op: 'commit', commit: wireCommit(commitOf(rows), 1) }]);
    expect(list.filter((value) => typeof value === 'object' && value !== null)).toEqual([]);
  });

  it('bring each piece of a state once, as long as states hold it', () => {
    const pack = packer();
    const textsOf = (...state: string[]) => {
      const list = pack([{ id: 1, op: 'commit', commit: wireCommit(commitOf([], { state }), 1) }]);
      return list.filter((value) => typeof value === 'string');
    };
    expect(textsOf('a', 'b')).toEqual(['a', 'b']);
    expect(textsOf('a', 'c', 'a')).toEqual(['c']);
    expect(textsOf('b')).toEqual(['b']);
    expect(textsOf('a')).toEqual(['a']);
  });
});
