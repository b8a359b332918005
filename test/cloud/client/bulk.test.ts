import { describe, expect, it, vi } from 'vitest';
import { answer, failure, rig } from './harness.ts';

const { signal } = new AbortController();
const params = { dealerId: '1', siteId: '2' };
const item = (id: string) => ({ external_device_id: id, device_type: 'camera' as const, zone_number: '1' });
const done = (id: string, device_id: number) => ({
  is_successful: true,
  req: { external_device_id: id },
  res: { device_id, external_device_id: id },
});
const failed = (id: string, status_code = 400) => ({
  is_successful: false,
  status_code,
  error_message: `${id} is wrong`,
  req: { external_device_id: id },
});
const items = ['a', 'b', 'c'].map(item);
const create = (manage: ReturnType<typeof rig>['manage'], of = items) =>
  manage.createDevices({ params, items: of, signal });
const names = (list: readonly { readonly input: { readonly external_device_id: string } }[]) =>
  list.map(({ input }) => input.external_device_id);

describe('a bulk call', () => {
  it('gives what went through only past a handler for what failed', async () => {
    const body = { success_count: 2, failure_count: 1, results: [done('a', 1), failed('b'), done('c', 3)] };
    const { manage } = rig(() => answer({ status: 201, body }));
    const outcome = await create(manage);
    expect(outcome.allOk).toBe(false);
    const onFailed = vi.fn();
    expect(names(outcome.succeeded(onFailed))).toEqual(['a', 'c']);
    expect(onFailed).toHaveBeenCalledWith([{ input: items[1], status: 400, message: 'b is wrong' }]);
    expect(() =>
      outcome.succeeded(([first]) => {
        throw new Error(first.message);
      }),
    ).toThrow('b is wrong');
  });

  it('matches shuffled results by the ids they echo', async () => {
    const body = { success_count: 2, failure_count: 1, results: [done('c', 3), failed('a'), done('b', 2)] };
    const { manage, changes } = rig(() => answer({ status: 201, body }));
    const outcome = await create(manage);
    expect(names(outcome.failed)).toEqual(['a']);
    expect(outcome.succeeded(() => {}).map(({ res }) => res.device_id)).toEqual([2, 3]);
    expect(changes).toEqual([]);
  });

  it('matches results that echo nothing by their position', async () => {
    const results = [{ is_successful: true }, { is_successful: false, error_message: 'no' }, { is_successful: true }];
    const { manage } = rig(() => answer({ status: 201, body: { results } }));
    expect(names((await create(manage)).failed)).toEqual(['b']);
  });

  it('trusts results over counts, and says that they disagree', async () => {
    const body = { success_count: 3, failure_count: 0, results: [done('a', 1), failed('b'), done('c', 3)] };
    const { manage, changes } = rig(() => answer({ status: 201, body }));
    expect(names((await create(manage)).failed)).toEqual(['b']);
    expect(changes.map(({ path }) => path)).toEqual(['success_count', 'failure_count']);
  });

  it('counts an item the answer does not mention as failed', async () => {
    const { manage } = rig(() => answer({ status: 201, body: { results: [done('a', 1), done('c', 3)] } }));
    const { failed: missing } = await create(manage);
    expect(missing).toEqual([{ input: items[1], message: 'the answer says nothing about this item' }]);
  });

  it.each(['false', 'False', 0, '0'])('takes is_successful %j for failure, whatever else is there', async (word) => {
    const results = items.map(({ external_device_id: id }) => ({ ...done(id, 1), is_successful: word }));
    const { manage } = rig(() => answer({ status: 201, body: { results } }));
    expect((await create(manage)).failed).toHaveLength(3);
  });

  it('with no items sends nothing', async () => {
    const { manage, sent } = rig(() => answer({ status: 201, body: {} }));
    expect((await create(manage, [])).allOk).toBe(true);
    expect(sent).toEqual([]);
  });

  it('of many items goes in several requests', async () => {
    const many = Array.from({ length: 120 }, (_, index) => item(`cam-${index}`));
    const { manage, sent } = rig(({ body }) => {
      const list = JSON.parse(String(body)) as { external_device_id: string }[];
      return answer({ status: 201, body: { results: list.map((one, i) => done(one.external_device_id, i + 1)) } });
    });
    const outcome = await create(manage, many);
    expect([outcome.allOk, outcome.succeeded(() => {}).length, sent.length]).toEqual([true, 120, 3]);
  });
});

describe('a bulk call that fails half way', () => {
  const many = Array.from({ length: 120 }, (_, index) => item(`d${index}`));
  const half = (end: Parameters<typeof answer>[0]) =>
    rig(({ body }, count) => {
      if (count > 1) return answer(end);
      const list = JSON.parse(String(body)) as { external_device_id: string }[];
      return answer({ status: 201, body: { results: list.map((one, i) => done(one.external_device_id, i)) } });
    });

  it('still tells what was done before, why the next failed, and what was not sent', async () => {
    const { manage, sent } = half({ status: 403 });
    const outcome = await create(manage, many);
    expect(names(outcome.succeeded(() => {}))).toEqual(many.slice(0, 50).map((one) => one.external_device_id));
    expect(outcome.failed).toHaveLength(70);
    expect(outcome.failed[0]).toMatchObject({ input: many[50], status: 403 });
    expect(outcome.failed.at(-1)).toMatchObject({ input: many[119], message: expect.stringContaining('not sent') });
    expect(sent).toHaveLength(2);
  });

  it('throws when nothing is known of any item', async () => {
    const { manage } = rig(() => answer({ status: 403 }));
    await expect(create(manage, many)).rejects.toMatchObject({ code: 'cloud_forbidden' });
  });
});

describe('a bulk call whose reply was lost', () => {
  it('creates only what the service does not have', async () => {
    const sent: string[][] = [];
    const traces = new Set<string | undefined>();
    const { manage } = rig(({ operation, body, headers }, count) => {
      traces.add(headers['x-partner-trace-id']);
      if (operation.id === 'listDevices')
        return answer({ status: 200, body: [{ device_id: 1, external_device_id: 'a' }] });
      const list = (JSON.parse(String(body)) as { external_device_id: string }[]).map((one) => one.external_device_id);
      sent.push(list);
      return count === 1
        ? failure('timeout')
        : answer({ status: 201, body: { results: list.map((id) => done(id, 9)) } });
    });
    const outcome = await create(manage);
    expect(sent).toEqual([
      ['a', 'b', 'c'],
      ['b', 'c'],
    ]);
    expect(outcome.allOk).toBe(true);
    expect(names(outcome.succeeded(() => {}))).toEqual(['a', 'b', 'c']);
    expect(traces).toHaveProperty('size', 1);
  });

  it('counts devices that are gone as deleted', async () => {
    const { manage, sent } = rig(({ operation }) =>
      operation.id === 'listDevices' ? answer({ status: 200, body: [] }) : failure('reset'),
    );
    const outcome = await manage.deleteDevices({ params, items: ['7', '8'], signal });
    expect([outcome.allOk, outcome.succeeded(() => {}).map(({ input }) => input)]).toEqual([true, ['7', '8']]);
    expect(sent).toHaveLength(2);
  });

  it('counts nothing as deleted when devices of the list cannot be read', async () => {
    const { manage } = rig(({ operation }) =>
      operation.id === 'listDevices' ? answer({ status: 200, body: [{ id: 7 }, { id: 8 }] }) : failure('reset'),
    );
    const call = manage.deleteDevices({ params, items: ['7', '8'], signal });
    await expect(call).rejects.toMatchObject({ code: 'cloud_outcome_unknown' });
  });

  it('says that it does not know where nothing can be looked up', async () => {
    const { manage, sent } = rig(() => failure('timeout'));
    const call = manage.addNvrDevices({ params: { ...params, nvrId: '5' }, items: ['7'], signal });
    await expect(call).rejects.toMatchObject({ code: 'cloud_outcome_unknown' });
    expect(sent).toHaveLength(1);
  });
});
