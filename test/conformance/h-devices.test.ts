import { expect } from 'vitest';
import { done, number, refused, results, rows, text, time } from './answers.ts';
import { aDevice, aSite, deviceBody, type Site, someDevices } from './fixtures.ts';
import { conformance, unique } from './server.ts';

const service = conformance();
const { rule, call } = service;

const create = (site: Site, json: unknown) => call('POST', `${site.path}/devices`, { token: site.token, json });
const update = (site: Site, json: unknown) => call('PUT', `${site.path}/devices`, { token: site.token, json });
const remove = (site: Site, json: unknown) =>
  call('POST', `${site.path}/devices/bulk-delete`, { token: site.token, json });
const listed = async (site: Site) => rows(await call('GET', `${site.path}/devices`, { token: site.token }));

/** One failed item. What it says names the field. */
const failed = (status: number, field: string) => ({
  is_successful: false,
  status_code: status,
  error_message: expect.stringContaining(field),
});

rule('S-120 a device has thirteen members', async () => {
  const site = await aSite(service);
  const body = deviceBody({
    name: 'Gate',
    additional_zone_numbers: '2,3',
    mac: '00:00:5e:00:53:01',
    manufacturer: 'Maker',
    model: 'M1',
    serial_number: 'S1',
  });
  const device = await aDevice(service, site, body);
  const path = `${site.path}/devices/${device.device_id}`;
  expect(done(await call('GET', path, { token: site.token }))).toEqual({
    ...body,
    device_id: number,
    registered_by_partner: text,
    created_at: time,
    updated_at: time,
  });
});

rule('S-121 devices are created from an array of items with three required texts', async () => {
  const site = await aSite(service);
  const items = [deviceBody(), deviceBody({ device_type: 'bridge', zone_number: '2', name: 'Bridge' })];
  const entries = results(await create(site, items), 201);
  for (const [index, item] of items.entries()) expect(entries[index]?.res).toMatchObject(item);
  expect(await listed(site)).toHaveLength(2);
});

rule('S-122 a failed item does not fail the call', async () => {
  const site = await aSite(service);
  const entries = results(await create(site, [deviceBody(), {}, deviceBody({ zone_number: '3' })]), 201);
  expect(entries.map((entry) => entry.is_successful)).toEqual([true, false, true]);
  expect(await listed(site)).toHaveLength(2);
});

rule('S-123 the call succeeds also when every item fails', async () => {
  const site = await aSite(service);
  expect(done(await create(site, [{}, 7]), 201)).toMatchObject({ success_count: 0, failure_count: 2 });
  expect(done(await update(site, [{ device_id: 999_999_999 }]))).toMatchObject({ success_count: 0, failure_count: 1 });
  const deletion = done(await remove(site, { deviceIds: [999_999_999] }));
  expect(deletion).toMatchObject({ success_count: 0, failure_count: 1 });
});

rule('S-124 no array, an empty one, and more than 500 items give 400 for the body', async () => {
  const site = await aSite(service);
  const many = (count: number) => Array.from({ length: count }, () => deviceBody());
  for (const json of [{}, 'text', 7, [], deviceBody(), many(501)]) {
    refused(await create(site, json), 400, 'body');
    refused(await update(site, json), 400, 'body');
  }
  expect(done(await create(site, many(500)), 201)).toMatchObject({ success_count: 500, failure_count: 0 });
});

rule('S-125 a wrong item fails with 400 and a message that names the field', async () => {
  const site = await aSite(service);
  const wrong = [
    ['external_device_id', undefined],
    ['external_device_id', 7],
    ['device_type', undefined],
    ['device_type', 'siren'],
    ['device_type', 'Camera'],
    ['zone_number', undefined],
    ['name', 7],
    ['mac', {}],
    ['serial_number', null],
  ] as const;
  const entries = results(
    await create(
      site,
      wrong.map(([field, value]) => deviceBody({ [field]: value })),
    ),
    201,
  );
  for (const [index, [field]] of wrong.entries()) expect(entries[index]).toMatchObject(failed(400, field));
  const { device_id } = await aDevice(service, site);
  const [entry] = results(await update(site, [{ device_id, name: 7 }]));
  expect(entry).toMatchObject(failed(400, 'name'));
  const [nameless] = results(await update(site, [{ name: 'no id' }]));
  expect(nameless).toMatchObject(failed(400, 'device_id'));
});

rule('S-126 a result has a device or a reason, never both, and echoes the item', async () => {
  const site = await aSite(service);
  const [good, bad] = [deviceBody(), deviceBody({ zone_number: 1 })];
  const [first, second] = results(await create(site, [good, bad]), 201);
  expect(Object.keys(first ?? {}).sort()).toEqual(['is_successful', 'req', 'res']);
  expect(Object.keys(second ?? {}).sort()).toEqual(['error_message', 'is_successful', 'req', 'status_code']);
  expect(first?.req).toMatchObject({ external_device_id: good.external_device_id });
  expect(second?.req).toMatchObject({ external_device_id: bad.external_device_id });
});

rule('S-127 the counts agree with the results, and those with the input, in its order', async () => {
  const site = await aSite(service);
  const items = [deviceBody(), deviceBody({ device_type: 'siren' }), deviceBody(), deviceBody({ name: 1 })];
  const body = done(await create(site, items), 201);
  expect(body).toMatchObject({ success_count: 2, failure_count: 2 });
  const entries = results(
    await create(
      site,
      items.map((item) => ({ ...item, external_device_id: unique('d') })),
    ),
    201,
  );
  expect(entries.map((entry) => entry.is_successful)).toEqual([true, false, true, false]);
  const known = await listed(site);
  const backwards = known.map((device) => device.device_id).toReversed();
  const changed = results(
    await update(
      site,
      backwards.map((device_id) => ({ device_id, name: `n${device_id}` })),
    ),
  );
  expect(changed.map((entry) => entry.req?.device_id)).toEqual(backwards);
});

rule('S-129 an external id that is in use fails its item; within a call the first one wins', async () => {
  const site = await aSite(service);
  const known = await aDevice(service, site);
  const twin = deviceBody({ name: 'first' });
  const items = [deviceBody({ external_device_id: known.external_device_id }), twin, { ...twin, name: 'second' }];
  const entries = results(await create(site, items), 201);
  expect(entries[0]).toMatchObject(failed(400, 'external_device_id'));
  expect(entries[1]).toMatchObject({ is_successful: true, res: { name: 'first' } });
  expect(entries[2]).toMatchObject(failed(400, 'external_device_id'));
  const elsewhere = await aSite(service, { dealer: site.dealer });
  expect(results(await create(elsewhere, [twin]), 201)[0]).toMatchObject({ is_successful: true });
});

rule('S-130 a zone number is text; that it is unique within a site is advice', async () => {
  const site = await aSite(service);
  const items = [
    deviceBody(),
    deviceBody(),
    deviceBody({ zone_number: 1 }),
    deviceBody({ additional_zone_numbers: ['2'] }),
  ];
  const entries = results(await create(site, items), 201);
  expect(entries[0]).toMatchObject({ is_successful: true, res: { zone_number: '1' } });
  expect(entries[1]).toMatchObject({ is_successful: true, res: { zone_number: '1' } });
  expect(entries[2]).toMatchObject(failed(400, 'zone_number'));
  expect(entries[3]).toMatchObject(failed(400, 'additional_zone_numbers'));
});

rule('S-131 a device says which partner registered it, in a word', async () => {
  const device = await aDevice(service, await aSite(service));
  expect(device.registered_by_partner).toMatch(/^\w+$/);
});

rule('S-132 devices are listed and read; an unknown one is 404', async () => {
  const site = await aSite(service);
  const devices = await someDevices(service, site, [deviceBody(), deviceBody({ zone_number: '2' })]);
  const ids = (await listed(site)).map((device) => device.device_id);
  expect(ids).toEqual(devices.map((device) => device.device_id));
  const path = `${site.path}/devices`;
  for (const id of ids) expect(done(await call('GET', `${path}/${id}`, { token: site.token })).device_id).toBe(id);
  refused(await call('GET', `${path}/999999999`, { token: site.token }), 404);
});

rule('S-133 devices are changed by device_id, each of seven members on its own', async () => {
  const site = await aSite(service);
  const { device_id } = await aDevice(service, site);
  const changes = {
    name: 'Yard',
    zone_number: '7',
    additional_zone_numbers: '8,9',
    mac: '00:00:5e:00:53:02',
    manufacturer: 'Other',
    model: 'M2',
    serial_number: 'S2',
  };
  for (const [field, value] of Object.entries(changes)) {
    const [entry] = results(await update(site, [{ device_id, [field]: value }]));
    expect(entry).toMatchObject({ is_successful: true, req: { device_id }, res: { device_id } });
  }
  expect((await listed(site))[0]).toMatchObject(changes);
});

rule('S-134 an unknown device fails its item with 404', async () => {
  const site = await aSite(service);
  const other = await aDevice(service, await aSite(service, { dealer: site.dealer }));
  const items = [
    { device_id: 999_999_999, name: 'x' },
    { device_id: other.device_id, name: 'x' },
  ];
  for (const entry of results(await update(site, items))) {
    expect(entry).toMatchObject({ is_successful: false, status_code: 404, error_message: text });
  }
});

rule('S-134 type and external id stay; one device twice is changed in order', async () => {
  const site = await aSite(service);
  const { device_id, external_device_id } = await aDevice(service, site);
  const items = [
    { device_id, device_type: 'bridge', external_device_id: 'other', name: 'one' },
    { device_id, name: 'two', zone_number: '5' },
  ];
  expect(done(await update(site, items))).toMatchObject({ success_count: 2, failure_count: 0 });
  const expected = { device_type: 'camera', external_device_id, name: 'two', zone_number: '5' };
  expect((await listed(site))[0]).toMatchObject(expected);
});

rule('S-135 bulk-delete removes devices for good and tells which', async () => {
  const site = await aSite(service);
  const [first, second] = await someDevices(service, site, [deviceBody(), deviceBody({ zone_number: '2' })]);
  const device_id = Number(first?.device_id);
  const body = done(await remove(site, { deviceIds: [device_id] }));
  const res = { device_id, device_type: 'camera', zone_number: '1' };
  expect(body).toMatchObject({ success_count: 1, failure_count: 0 });
  expect(body.results).toEqual([{ is_successful: true, req: { device_id }, res: expect.objectContaining(res) }]);
  expect((await listed(site)).map((device) => device.device_id)).toEqual([second?.device_id]);
  refused(await call('GET', `${site.path}/devices/${device_id}`, { token: site.token }), 404);
});

rule('S-136 deviceIds that is missing, no array, or holds other than numbers gives 400 for the call', async () => {
  const site = await aSite(service);
  const { device_id } = await aDevice(service, site);
  const wrong = [undefined, null, device_id, String(device_id), {}, [String(device_id)], [device_id, null], [1.5], []];
  for (const deviceIds of wrong) refused(await remove(site, { deviceIds }), 400, 'deviceIds');
  expect(await listed(site)).toHaveLength(1);
});

rule('S-136 an unknown or repeated id fails its item with 404', async () => {
  const site = await aSite(service);
  const { device_id } = await aDevice(service, site);
  const entries = results(await remove(site, { deviceIds: [device_id, 999_999_999, device_id] }));
  expect(entries[0]).toMatchObject({ is_successful: true });
  expect(entries[1]).toMatchObject({ is_successful: false, status_code: 404, req: { device_id: 999_999_999 } });
  expect(entries[2]).toMatchObject({ is_successful: false, status_code: 404, req: { device_id } });
});

rule('S-137 the deletion is a POST, and its member is written deviceIds', async () => {
  const site = await aSite(service);
  const { device_id } = await aDevice(service, site);
  refused(await remove(site, { device_ids: [device_id] }), 400, 'deviceIds');
  const path = `${site.path}/devices/bulk-delete`;
  const answer = await call('DELETE', path, { token: site.token, json: { deviceIds: [device_id] } });
  expect(answer.status).toBeGreaterThanOrEqual(400);
  expect(await listed(site)).toHaveLength(1);
  const log = `${site.path}/activity-logs`;
  refused(await call('GET', `${log}?startDate=nonsense`, { token: site.token }), 400, 'startDate');
  rows(await call('GET', `${log}?start_date=nonsense`, { token: site.token }));
});
