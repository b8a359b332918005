import { existsSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import * as schemas from '../../../src/lan/mqtt/schemas.ts';

const folder = new URL('../../../../shared/data/', import.meta.url);
const schemaFile = new URL('siteward_mqtt.schema.json', folder);
const present = existsSync(schemaFile);

const ours: Record<string, z.ZodType> = {
  arm: schemas.armBody,
  disarm: schemas.disarmBody,
  query: schemas.queryBody,
  silence: schemas.silenceBody,
  snapshot: schemas.snapshotBody,
  play: schemas.playBody,
  cancel: schemas.cancelBody,
  dispatch: schemas.dispatchBody,
  reply: schemas.reply,
  partition_detail: schemas.partitionDetail,
  zone_detail: schemas.zoneDetail,
  event: schemas.eventPayload,
  info: schemas.info,
};

const id = '3f2b6c1e-8a4d-4c55-9b1e-0d6f7a2c9e10';
const at = '2026-11-27T20:00:00Z';
/** One full document of each kind, to mutate. */
const full: Record<string, Record<string, unknown>> = {
  arm: {
    ...{ id, issued_at: at, expires_at: at, reply_to: 'a/b', correlation: 'c', actor: 'x', code: '0012' },
    ...{ expected: { seq: 4, state: ['disarmed'] }, partition: 'p1', mode: 'away', force: true, bypass: ['1', '02'] },
    skip_exit_delay: false,
  },
  disarm: { id, issued_at: at, partition: 'all', code: '4827', expected: { state: [] } },
  snapshot: { id, issued_at: at, camera: 'yard', width: 640, deliver: 'image_topic', code: '4827' },
  play: {
    ...{ id, issued_at: at, audio_message_id: 'leave', volume: 50, repeat: 2, target_devices: ['gate'] },
    priority: 'alarm',
  },
  cancel: { id, issued_at: at, playback_id: 'x1' },
  dispatch: { id, issued_at: at, kind: 'guard', partition: 'p1', event_id: 'e1', note: 'gate' },
  silence: { id, issued_at: at, partition: 'all', code: '4827', correlation: 'c' },
  query: { id, issued_at: at, what: 'history', limit: 20 },
  reply: {
    ...{ id: null, correlation: 'c', outcome: 'refused', partition: 'p1', state: 'disarmed', seq: 4, data: {} },
    ...{ error: { code: 'LOCKED', field: 'code', zones: ['1'], retry_after_s: 90 }, at, final: true },
  },
  partition_detail: {
    ...{ partition: 'p1', name: 'n', state: 'pending', mode: null, seq: 1, epoch: 1, at, authority: 'panel' },
    ...{ stale: false, ready: true, open_zones: ['1'], bypassed: [], memory: ['2'], alarm: null, exit_left_s: 3 },
    ...{ entry_left_s: 0, changed_by: 'user 3', source: 'lan', request: { target: 'away' } },
  },
  zone_detail: {
    ...{
      zone: '12',
      name: 'n',
      type: 't',
      partitions: ['p1'],
      open: null,
      alarm: false,
      tamper: false,
      bypassed: true,
    },
    ...{ low_battery: false, supervised: true, online: true, device_id: 7, at },
  },
  event: {
    ...{ event_id: 'e', event_type: 'k', kind: 'k', class: 'alarm', status: 'active', partition: 'p1', zone: '1' },
    ...{ camera: 'c', contact_id: '130', sia: 'BA', seq: 1, source: 's', actor: 'a', at, late: true, data: {} },
  },
  info: {
    ...{ api: 1, version: '1', boot_id: id, epoch: 1, clock: 'synced', security_type: null, caps: ['a'] },
    ...{ limits: {}, links: {}, activated: true },
  },
};

const scalar = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    4827,
    1.5,
    1e21,
    '',
    'p1',
    'p0',
    'all',
    '0012',
    at,
    id,
    'a+b',
    '\u0000',
    {},
    [],
    ['1', '1'],
  ),
  fc.constantFrom(
    '😀'.repeat(64),
    '😀'.repeat(65),
    'x'.repeat(129),
    'x'.repeat(201),
    'disarmed',
    'LOCKED',
    '2026-11-27 20:00:00',
  ),
  fc.string({ maxLength: 8 }),
  fc.integer(),
  fc.array(fc.constantFrom('1', '2', 'disarmed', 'x y'), { maxLength: 3 }),
);

/** Changes a document in one to three places: a member replaced, removed or added, at the top or one level down. */
const mutation = fc.record({
  member: fc.nat(40),
  inner: fc.boolean(),
  action: fc.constantFrom('replace', 'remove', 'add'),
  name: fc.constantFrom('extra', '__proto__', 'constructor', 'code', 'zones', 'seq'),
  value: scalar,
});

function mutate(document: Record<string, unknown>, change: typeof mutation extends fc.Arbitrary<infer T> ? T : never) {
  const copy = structuredClone(document);
  const names = Object.keys(copy);
  const name = names[change.member % names.length]!;
  const inside = copy[name];
  const place =
    change.inner && typeof inside === 'object' && inside !== null && !Array.isArray(inside)
      ? (inside as Record<string, unknown>)
      : copy;
  const target = place === copy ? name : (Object.keys(place)[0] ?? 'extra');
  if (change.action === 'remove') delete place[target];
  else {
    const key = change.action === 'add' ? change.name : target;
    Object.defineProperty(place, key, { value: change.value, enumerable: true, configurable: true, writable: true });
  }
  return copy;
}

describe.skipIf(!present)('the payload schemas, against the published JSON schemas (needs ../shared)', () => {
  const published = present ? JSON.parse(readFileSync(schemaFile, 'utf8')) : { $defs: {} };
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema(published, 'api');
  const theirs = (name: string, document: unknown) => ajv.validate(`api#/$defs/${name}`, document) as boolean;

  const examples: { def: string; valid: boolean; doc: unknown }[] = present
    ? readFileSync(new URL('siteward_mqtt_examples.jsonl', folder), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    : [];

  it('judge every published example as it is marked', () => {
    const covered = examples.filter(({ def }) => def in ours);
    expect(covered.length).toBeGreaterThan(15);
    for (const { def, doc, valid } of covered) {
      expect({ doc, valid: ours[def]!.safeParse(doc).success }).toEqual({ doc, valid });
    }
  });

  it.each(Object.keys(ours))('agree on %s for any mutation of a full document', (name) => {
    expect(theirs(name, full[name])).toBe(true);
    fc.assert(
      fc.property(fc.array(mutation, { maxLength: 3 }), (changes) => {
        // Through text, as a payload comes: own `__proto__` members included.
        const document = JSON.parse(JSON.stringify(changes.reduce(mutate, full[name]!)));
        expect({ document, valid: ours[name]!.safeParse(document).success }).toEqual({
          document,
          valid: theirs(name, document),
        });
      }),
      { numRuns: 2000 },
    );
  });
});
