import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OutboxDocument } from '#lan/http/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import type { SiteEvent } from '#site/model/index.ts';
import { camera, type Site, startSite } from '../harness/site.ts';
import { withStore } from '../harness/store.ts';
import { siteward } from './run-cli.ts';

const yaml = (cameras: Readonly<Record<string, string>>) => `
partitions: [ { id: p1, name: Shop, exit_delay: 0s, entry_delay: 0s } ]
panels:
  - id: sensors
    profile: zigbee2mqtt
    zones: { "1": { type: panic_audible, name: Button, key: button, partition: p1 } }
cameras:
${camera('yard', cameras.yard, 'partition: p1')}
`;
const slow = { timeoutMs: 60_000 };

let site: Site | undefined;
let dir: string;
function running(): Site {
  if (site === undefined) throw new Error('the site did not start');
  return site;
}
const outbox = (...args: string[]) => siteward(['outbox', ...args, '--socket', running().socket]);
const json = async (...args: string[]) => JSON.parse((await outbox(...args, '--json')).out) as unknown;
const lines = async <T>(...args: string[]): Promise<T[]> =>
  (await outbox(...args)).out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'siteward-export-'));
});
afterAll(async () => {
  await site?.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Later tests go on where earlier ones stop: a site takes seconds to start. */
test('waiting events are listed oldest first, by lane and partition, and counted', async () => {
  site = await startSite({ broker: 'embedded', cameras: ['yard'], yaml: (at) => yaml(at.cameras) });
  const { line, panel, history } = site;
  await line.cut();
  const sensors = await panel('sensors', ['--kind', 'zigbee', '--device', 'button:contact']);
  for (let pressed = 0; pressed < 4; pressed += 1) {
    sensors.send('open button');
    sensors.send('close button');
  }
  await eventually(
    'alarms wait',
    async () => ((await history()).filter(({ event }) => event.class === 'alarm').length >= 4 ? true : undefined),
    slow,
  );
  const all = await lines<{ seq: number; lane: string }>('events', '--json', '--limit', '100');
  const seqs = all.map(({ seq }) => seq);
  expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  const alarms = await lines<{ seq: number }>('events', '--json', '--lane', 'alarm', '--partition', 'p1');
  expect(alarms.map(({ seq }) => seq)).toEqual(all.filter(({ lane }) => lane === 'alarm').map(({ seq }) => seq));
  expect(await lines('events', '--json', '--partition', 'elsewhere')).toEqual([]);
  expect((await lines<{ seq: number }>('events', '--json', '--limit', '1'))[0]?.seq).toBe(seqs[0]);
  const { lanes } = (await json('show')) as OutboxDocument;
  expect(lanes.find(({ lane }) => lane === 'alarm')).toMatchObject({ waiting: alarms.length, parked: 0, lost: 0 });
});

test('the cut line shows with its trouble, the breaker and the next try', async () => {
  const held = await eventually(
    'the line is known to be cut',
    async () => {
      const { link } = (await json('show')) as OutboxDocument;
      return link.state === 'down' && link.breaker !== 'closed' && link.since !== undefined ? link : undefined;
    },
    slow,
  );
  expect(held).toMatchObject({ trouble: 'unreachable' });
  expect(held.next_try_s).toBeGreaterThanOrEqual(0);
  const { out } = await outbox('show');
  expect(out).toMatch(/^link +DOWN \(unreachable\) since /m);
  expect(out).toMatch(/^disk +site\.db .* log, bulk\.db .* free, level /m);
});

test('parked events are shown, explained, exported, dropped with a gap, and retried to the cloud', async () => {
  const waiting = await lines<{ seq: number; event: { event_id: string } }>('events', '--json', '--lane', 'alarm');
  const [first, second, third] = waiting.map(({ seq }) => seq);
  if (first === undefined || second === undefined || third === undefined) throw new Error('no alarms wait');
  const refusal = { lane: 'alarm', verdict: 'parked', at: Date.now(), tries: 2 } as const;
  const reason = '422 refused as invalid: camera_id unknown';
  await withStore(running(), (store) =>
    store.settle([first, second, third].map((seq) => ({ ...refusal, seq, status: 422, reason }))),
  );
  await running().daemon.restart();

  const list = await outbox('parked');
  expect(list.out.split('\n')).toHaveLength(4);
  expect(list.out).toContain('422  2 tries  refused as invalid: camera_id unknown');
  const one = await outbox('parked', String(first));
  expect(one.out).toContain('The cloud understood the request and does not take this event');
  expect(one.out).toContain(`"event_id": "${waiting[0]?.event.event_id}"`);
  const trail = (await running().history()).find(({ seq }) => seq === first);
  expect(trail).toMatchObject({ delivery: 'parked', reason: expect.stringContaining('camera_id unknown') });

  const file = join(dir, 'parked.jsonl');
  expect((await outbox('export', '--all', '--out', file)).code).toBe(0);
  const exported = readFileSync(file, 'utf8').trimEnd().split('\n');
  expect(exported.map((line) => JSON.parse(line))).toMatchObject(
    [third, second, first].map((seq) => ({
      event_id: waiting.find((entry) => entry.seq === seq)?.event.event_id,
      event_type: 'alarm',
      payload: { seq },
    })),
  );

  const refused = await outbox('drop', String(second), '999999', '--yes');
  expect([refused.code, refused.err]).toMatchObject([66, expect.stringContaining('not parked: 999999')]);
  expect(await json('drop', String(second), '--yes')).toEqual({ dropped: 1 });
  expect(await lines('gaps', '--json')).toMatchObject([
    { lane: 'alarm', seq_from: second, seq_to: second, count: 1, why: 'technician' },
  ]);
  expect(((await json('show')) as OutboxDocument).lanes[0]).toMatchObject({ lane: 'alarm', parked: 2, lost: 1 });

  await running().line.restore();
  expect(await json('retry', String(first), String(third))).toEqual({ retried: 2 });
  await eventually(
    'the retried alarms are in the cloud, the dropped one is not',
    async () => {
      const numbers = (await running().cloud.events()).map(({ body }) => body.payload.seq);
      return numbers.includes(first) && numbers.includes(third) ? !numbers.includes(second) || undefined : undefined;
    },
    slow,
  );
  const told = await eventually(
    'the cloud is told of the dropped one',
    async () => (await running().cloud.events()).find(({ body }) => body.payload.kind === 'events_lost'),
    slow,
  );
  expect(JSON.stringify(told.body.payload.data)).toContain('technician');
  await eventually(
    'its gap record says so',
    async () => ((await lines<{ reported: boolean }>('gaps', '--json'))[0]?.reported ? true : undefined),
    slow,
  );
  expect(await lines('parked', '--json')).toEqual([]);
  expect((await outbox('retry', String(first))).code).toBe(66);
  expect(running().daemon.lines().join('\n')).toContain('parked events were given up');
});

test('a silent event is neither listed nor touched, and the numbers after it go on as if it were not there', async () => {
  let silent = 0;
  let number = 0;
  await withStore(running(), async (store) => {
    const { epoch, nextSeq, hidden } = store.recovery();
    silent = nextSeq - hidden - 1;
    number = nextSeq - hidden;
    const rowOf = (seq: number, kind: string, shown: number) => {
      const at = { orderKey: 'p1', mono: 1, wall: Date.now(), boot: 'x', clock: 'synced' } as const;
      const eventId = `numbers-${seq}`;
      const event = {
        ...{ event_id: eventId, event_type: kind, kind, class: 'alarm', status: 'active' },
        ...{ partition: 'p1', seq: shown, source: 'panel:sensors', at: new Date().toISOString() },
        data: { version: 1, epoch, clock: 'synced' },
      } as SiteEvent;
      const body = JSON.stringify({ event_id: eventId, payload: event });
      return { ...at, seq, eventId, lane: 'alarm', body, event, media: [], toCloud: true } as const;
    };
    const rows = [
      { ...rowOf(nextSeq, 'panic_silent', silent), silent: true as const },
      rowOf(nextSeq + 1, 'burglary', number),
      rowOf(nextSeq + 2, 'burglary', number + 1),
    ];
    await store.commit({ rows, arming: [], inputs: [] });
    const refusal = { lane: 'alarm', verdict: 'parked', at: Date.now(), tries: 2, status: 422 } as const;
    await store.settle(rows.map(({ seq }) => ({ ...refusal, seq, reason: '422 refused as invalid' })));
  });
  await running().daemon.restart();
  const parked = async () => (await lines<{ seq: number }>('parked', '--json')).map(({ seq }) => seq);
  expect(await parked()).toEqual([number + 1, number]);
  // The silent one has the number of an event that is not parked.
  for (const verb of [['retry'], ['drop', '--yes'], ['export'], ['parked']]) {
    expect((await outbox(...verb, String(silent))).code).toBe(66);
  }
  expect((await outbox('parked', String(number))).out).toContain(`siteward outbox drop ${number}`);
  expect(await json('drop', String(number), '--yes')).toEqual({ dropped: 1 });
  expect((await lines<object>('gaps', '--json'))[0]).toMatchObject({ seq_from: number, seq_to: number, count: 1 });
  expect(await json('retry', String(number + 1))).toEqual({ retried: 1 });
  expect(await parked()).toEqual([]);
  expect(((await json('show')) as OutboxDocument).lanes[0]).toMatchObject({ parked: 0 });
  const told = await eventually(
    'the cloud is told of the dropped one by its number',
    async () =>
      (await running().cloud.events()).find(({ body }) => body.payload.data.evidence?.[0]?.seq_from === number),
    slow,
  );
  expect(told.body.payload).toMatchObject({ kind: 'events_lost', data: { evidence: [{ seq_to: number }] } });
});
