import { describe, expect, it } from 'vitest';
import type { WireRequest } from '#lib/contract/client.ts';
import { answer, failure, rig } from './harness.ts';

const { signal } = new AbortController();
const params = { dealerId: '1', siteId: '2' };
const site = { site_id: 2, external_site_id: 'hq', is_activated: 0 };
const ids = (sent: readonly WireRequest[]) => sent.map(({ operation }) => operation.id);

describe('a call', () => {
  it.each([429, 502, 503, 504])('is repeated after %i under one trace id, at most three times here', async (status) => {
    const { manage, sent } = rig(() => answer({ status }));
    await expect(manage.getSite({ params, signal })).rejects.toMatchObject({ code: 'cloud_unreachable' });
    expect(new Set(sent.map(({ headers }) => headers['x-partner-trace-id'])).size).toBe(1);
    expect(sent).toHaveLength(3);
  });

  it.each([400, 401, 403, 404, 409, 500])('is not repeated after %i', async (status) => {
    const { manage, sent } = rig(() => answer({ status }));
    await expect(manage.getSite({ params, signal })).rejects.toMatchObject({ facts: { status } });
    expect(sent).toHaveLength(1);
  });

  it.each([400, 401, 403, 404, 429])(
    'refused with %i shows no other interface: any endpoint may say so',
    async (status) => {
      const { manage, changes } = rig(() => answer({ status }));
      await expect(manage.getSite({ params, signal })).rejects.toMatchObject({ facts: { status } });
      expect(changes).toEqual([]);
    },
  );

  it('that must not be done twice is not repeated after a lost reply, and says that it may have been done', async () => {
    for (const lost of [failure('timeout'), failure('reset'), answer({ status: 502 })]) {
      const { manage, sent } = rig(() => lost);
      const call = manage.playAudioMessage({ params: { site_id: '2', audio_message_id: 'a' }, signal });
      await expect(call).rejects.toMatchObject({ code: 'cloud_outcome_unknown' });
      expect(sent).toHaveLength(1);
    }
  });

  it('that surely was not sent is repeated, whatever it does', async () => {
    const { manage, sent } = rig((_, count) =>
      count === 1 ? failure('refused') : answer({ status: 200, body: { data: { status: 'playing' } } }),
    );
    await manage.playAudioMessage({ params: { site_id: '2', audio_message_id: 'a' }, signal });
    expect(sent).toHaveLength(2);
  });

  it('is not repeated when the server asks for more patience than there is; the caller learns how long', async () => {
    const { manage, sent } = rig(() => answer({ status: 429, headers: { 'retry-after': '3600' } }));
    await expect(manage.getSite({ params, signal })).rejects.toMatchObject({ facts: { retry_after_ms: 3_600_000 } });
    expect(sent).toHaveLength(1);
  });

  it('ends with the reason of its signal, also between tries', async () => {
    const stop = new AbortController();
    const { manage } = rig(
      () => {
        queueMicrotask(() => stop.abort(new Error('the daemon stops')));
        return answer({ status: 503 });
      },
      { retry: { tries: 9, baseMs: 60_000, capMs: 60_000 } },
    );
    await expect(manage.getSite({ params, signal: stop.signal })).rejects.toThrow('the daemon stops');
  });

  it('to delete what is gone after a lost reply has done it; without one there was nothing', async () => {
    const lost = rig((_, count) => (count === 1 ? failure('timeout') : answer({ status: 404 })));
    expect((await lost.manage.deleteSite({ params, signal })).status).toBe(204);
    const first = rig(() => answer({ status: 404 }));
    await expect(first.manage.deleteSite({ params, signal })).rejects.toMatchObject({ code: 'cloud_not_found' });
  });

  it('refused with 403 says what may explain it', async () => {
    const { manage } = rig(() => answer({ status: 403 }));
    await expect(manage.getDealer({ params, signal })).rejects.toThrow('kind A');
    await expect(manage.updateMonitoringBindings({ params, signal })).rejects.toThrow('kind B');
    await expect(manage.listContacts({ params, signal })).rejects.toThrow('perhaps not connected');
  });
});

describe('creating a site', () => {
  const body = { external_site_id: 'hq', name: 'HQ', timezone: 'UTC' };
  const create = (manage: ReturnType<typeof rig>['manage']) => manage.createSite({ params, body, signal });

  it('whose reply was lost finds it instead of creating another', async () => {
    const { manage, sent } = rig(({ operation }) =>
      operation.id === 'createSite' ? failure('timeout') : answer({ status: 200, body: [site] }),
    );
    expect((await create(manage)).value.site_id).toBe('2');
    expect(ids(sent)).toEqual(['createSite', 'listSites']);
    expect(new URLSearchParams(sent[1]?.target.split('?')[1]).get('filter')).toBe('external_site_id,hq,eq');
  });

  it('that did not arrive is repeated, also when the service ignores the filter', async () => {
    const { manage, sent } = rig(({ operation }, count) => {
      if (operation.id === 'listSites') return answer({ status: 200, body: [{ ...site, external_site_id: 'other' }] });
      return count === 1 ? failure('reset') : answer({ status: 201, body: site });
    });
    expect((await create(manage)).value.site_id).toBe('2');
    expect(ids(sent)).toEqual(['createSite', 'listSites', 'listSites', 'createSite']);
    expect(new Set(sent.map(({ headers }) => headers['x-partner-trace-id'])).size).toBe(1);
  });

  it('is not repeated when it is there, though the list does not tell its id', async () => {
    const { manage, sent } = rig(({ operation }) =>
      operation.id === 'createSite' ? failure('reset') : answer({ status: 200, body: [{ external_site_id: 'hq' }] }),
    );
    await expect(create(manage)).rejects.toMatchObject({ code: 'cloud_outcome_unknown' });
    expect(ids(sent)).toEqual(['createSite', 'listSites']);
  });

  it.each([
    ['a row that does not say whose it is', { site_id: 7 }],
    ['a row whose external id is null', { site_id: 7, external_site_id: null }],
    ['a row that cannot be read', 'no site'],
  ])('is not repeated where the list hides whether it is there: %s', async (_what, row) => {
    const { manage, sent } = rig(({ operation, target }) => {
      if (operation.id === 'createSite') return failure('reset');
      return answer({ status: 200, body: target.includes('offset=0') ? [row] : [] });
    });
    await expect(create(manage)).rejects.toMatchObject({ code: 'cloud_outcome_unknown' });
    expect(ids(sent).filter((id) => id === 'createSite')).toHaveLength(1);
    const look = manage.findSite({ params, externalId: 'hq', signal });
    await expect(look).rejects.toThrow(/the site hq may be there.*site.id/);
  });

  it('finds it on whatever page of the list it is', async () => {
    const others = [1, 3].map((site_id) => ({ site_id, external_site_id: `other-${site_id}` }));
    const { manage, sent } = rig(({ operation, target }) => {
      if (operation.id === 'createSite') return failure('timeout');
      return answer({ status: 200, body: target.includes('offset=0') ? others : [site] });
    });
    expect((await create(manage)).value.site_id).toBe('2');
    expect(ids(sent)).toEqual(['createSite', 'listSites', 'listSites']);
  });

  it('that is refused is not repeated, and an existing one is not taken for ours', async () => {
    const { manage, sent } = rig(() => answer({ status: 400, body: { field: 'external_site_id' } }));
    await expect(create(manage)).rejects.toMatchObject({ code: 'cloud_refused', facts: { field: 'external_site_id' } });
    expect(ids(sent)).toEqual(['createSite']);
  });

  it('refused as a double after a lost reply finds what arrived late', async () => {
    let lists = 0;
    const { manage } = rig(({ operation }, count) => {
      if (operation.id === 'createSite') return count === 1 ? failure('timeout') : answer({ status: 400 });
      lists += 1;
      return answer({ status: 200, body: lists === 1 ? [] : [site] });
    });
    expect((await create(manage)).value.site_id).toBe('2');
  });
});

it.each([
  ['a row without an id', { name: 'x' }],
  ['a row that does not say whose it is', { id: 7 }],
])('a contact is not created again where the list hides whether it is there: %s', async (_what, row) => {
  const body = { external_contact_id: 'ada', first_name: 'Ada', last_name: 'Byron' };
  const { manage, sent } = rig(({ operation }) =>
    operation.id === 'createContact' ? failure('reset') : answer({ status: 200, body: [row] }),
  );
  const call = manage.createContact({ params, body, signal });
  await expect(call).rejects.toMatchObject({ code: 'cloud_outcome_unknown' });
  expect(ids(sent)).toEqual(['createContact', 'listContacts']);
});

describe('activation', () => {
  /** A site behind a service that toggles, and may lose replies. */
  function toggling(state: number, loses: (sent: number) => boolean = () => false) {
    let active = state;
    let toggles = 0;
    const made = rig(({ operation }) => {
      if (operation.method === 'GET') return answer({ status: 200, body: { ...site, is_activated: active } });
      active = 1 - active;
      toggles += 1;
      return loses(toggles) ? failure('timeout') : answer({ status: 200, body: { ...site, is_activated: active } });
    });
    return { ...made, active: () => active, toggles: () => toggles };
  }
  const activate = (manage: ReturnType<typeof rig>['manage']) => manage.setActivation({ params, active: true, signal });

  it('of an active site sends nothing but a question', async () => {
    const { manage, sent } = toggling(1);
    expect((await activate(manage)).value.is_activated).toBe(1);
    expect(ids(sent)).toEqual(['getSite']);
  });

  it('is sent once and read back', async () => {
    const { manage, toggles, active } = toggling(0);
    await activate(manage);
    expect([toggles(), active()]).toEqual([1, 1]);
  });

  it('is not sent again when its reply was lost but it was done', async () => {
    const { manage, toggles, active, sent } = toggling(0, () => true);
    await activate(manage);
    expect([toggles(), active()]).toEqual([1, 1]);
    expect(new Set(sent.map(({ headers }) => headers['x-partner-trace-id'])).size).toBe(1);
  });

  it('is not tried when the state cannot be read', async () => {
    const { manage, sent } = rig(() => answer({ status: 200, body: { site_id: 2 } }));
    await expect(activate(manage)).rejects.toMatchObject({ code: 'cloud_bad_answer' });
    expect(ids(sent)).toEqual(['getSite']);
  });
});

describe('all sites', () => {
  const all = async (manage: ReturnType<typeof rig>['manage']) => {
    const found: string[] = [];
    for await (const row of manage.listAllSites({ params, signal })) found.push(row.site_id);
    return found;
  };

  it('are read until an empty page, by the rows received, each once', async () => {
    const pages = [[1, 2, 3], [3, 4], []];
    const { manage, sent } = rig((_, count) =>
      answer({ status: 200, body: (pages[count - 1] ?? []).map((site_id) => ({ site_id })) }),
    );
    expect(await all(manage)).toEqual(['1', '2', '3', '4']);
    const queries = sent.map(({ target }) => new URLSearchParams(target.split('?')[1]));
    expect(queries.map((query) => [query.get('offset'), query.get('sort')])).toEqual([
      ['0', 'site_id'],
      ['3', 'site_id'],
      ['5', 'site_id'],
    ]);
  });

  it('of which none can be read are no empty list', async () => {
    const { manage } = rig(() => answer({ status: 200, body: [{ id: 1 }] }));
    await expect(all(manage)).rejects.toMatchObject({ code: 'cloud_bad_answer' });
  });

  it('end when the service gives the same page for ever', async () => {
    const { manage, changes } = rig(() => answer({ status: 200, body: [{ site_id: 1 }] }));
    expect(await all(manage)).toEqual(['1']);
    expect(changes).toEqual([{ operation: 'listSites', path: 'body', what: 'value' }]);
  });
});

describe('our own rate', () => {
  it('holds management calls back, not events, and a wait ends with its signal', async () => {
    const stop = new AbortController();
    const { manage, sent } = rig(() => answer({ status: 200, body: [] }), { rate: { perSecond: 0.001, burst: 1 } });
    await manage.listDevices({ params, signal });
    const held = manage.listDevices({ params, signal: stop.signal });
    await manage.listAudioMessages({ params: { site_id: '2' }, signal }).catch(() => {});
    await manage.postEvent({ signal });
    expect(ids(sent)).toEqual(['listDevices', 'listAudioMessages', 'postEvent']);
    stop.abort(new Error('no longer wanted'));
    await expect(held).rejects.toThrow('no longer wanted');
    expect(sent).toHaveLength(3);
  });
});

it('a user-bound token is forgotten once the dealer is connected', async () => {
  const { manage, sent } = rig(() => answer({ status: 200, body: { dealer_id: 1 } }));
  const connect = () => manage.connectDealer({ body: { external_dealer_id: 'd', company_name: 'D' }, signal });
  await connect();
  await expect(connect()).rejects.toMatchObject({ code: 'cloud_unauthorized' });
  expect(sent).toHaveLength(1);
});
