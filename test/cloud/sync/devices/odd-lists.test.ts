import { describe, expect, it } from 'vitest';
import type { Transport } from '#lib/contract/client.ts';
import { camera, startRig } from './rig.ts';

const { signal } = new AbortController();
type Row = Record<string, unknown>;

/** The service, with the rows of its list of devices in another form. */
const listed =
  (form: (rows: readonly Row[]) => readonly unknown[]) =>
  (real: Transport): Transport =>
  async (request) => {
    const answer = await real(request);
    if (request.operation.id !== 'listDevices' || answer.kind !== 'answer' || answer.status !== 200) return answer;
    const rows = JSON.parse(Buffer.from(answer.body).toString()) as Row[];
    return { ...answer, body: Buffer.from(JSON.stringify(form(rows))) };
  };

const foreign = (id: string, zone_number: string, more: Row = {}): Row => ({
  ...{ external_device_id: id, device_type: 'camera', zone_number },
  ...more,
});

describe('zone numbers of the list that are', () => {
  it('numbers count as their text: no number is given to two devices, and nothing is written again', async () => {
    const asNumbers = (rows: readonly Row[]) =>
      rows.map((row) => ({ ...row, ...(row.zone_number !== undefined && { zone_number: Number(row.zone_number) }) }));
    const rig = await startRig({
      devices: [foreign('f1', '1'), foreign('f2', '2', { additional_zone_numbers: '4' }), foreign('f3', '3')],
      wanted: { devices: ['c1', 'c2', 'c3'].map((id) => camera(id)) },
      transport: listed(asNumbers),
    });
    await rig.sync.sync(signal);
    const numbers = (await rig.devices()).map(({ zone_number }) => zone_number);
    expect(numbers.toSorted()).toEqual(['1', '2', '3', '5', '6', '7']);
    expect([rig.writes(), rig.sync.shown().state]).toEqual([['POST /devices'], 'in_step']);
    await rig.sync.sync(signal);
    expect([rig.writes().length, rig.sync.shown().held]).toEqual([1, []]);
  });

  it.each([
    ['a list', { additional_zone_numbers: [1, 4] }],
    ['a truth value', { zone_number: true }],
  ])('%s cannot be read, so that nothing is given away', async (_form, odd) => {
    const rig = await startRig({
      devices: [foreign('f1', '1', { additional_zone_numbers: '4' })],
      wanted: { devices: [camera('c1')] },
      transport: listed((rows) => rows.map((row) => ({ ...row, ...odd }))),
    });
    await expect(rig.sync.sync(signal)).rejects.toMatchObject({ code: 'cloud_bad_answer' });
    expect(rig.writes()).toEqual([]);
  });
});

describe('a row that stands in the list twice', () => {
  it('is one device', async () => {
    const rig = await startRig({
      devices: [foreign('c1', '1', { name: 'Camera c1' }), foreign('f2', '2')],
      wanted: { devices: [camera('c1', { zone: '1' })] },
      transport: listed((rows) => rows.flatMap((row) => [row, row])),
    });
    const plan = await rig.sync.plan(signal);
    expect([plan.held, plan.unchanged, plan.absent.length]).toEqual([[], ['c1'], 1]);
    await rig.sync.sync(signal);
    expect([rig.writes(), rig.sync.shown().state]).toEqual([[], 'in_step']);
  });

  it('under two external ids cannot be read: nobody knows which of ours is there', async () => {
    const rig = await startRig({
      devices: [foreign('c1', '1')],
      wanted: { devices: [camera('c1'), camera('c2')] },
      transport: listed(([row]) => [row, { ...row, external_device_id: 'c2' }]),
    });
    await expect(rig.sync.sync(signal)).rejects.toMatchObject({ code: 'cloud_bad_answer' });
    expect(rig.writes()).toEqual([]);
  });
});
