import { afterAll, expect, test } from 'vitest';
import { foundCameras, inspectedCamera } from '#lan/http/find-cameras.ts';
import { startCamera } from '#sandbox/cameras/index.ts';
import { eventually } from '#sandbox/demo/processes.ts';
import { askSocket } from '../harness/control.ts';
import { camera, type Site, startSite } from '../harness/site.ts';

let site: Site | undefined;
afterAll(() => site?.close());

const password = 'only-for-this-inspection';

test('the daemon finds a camera, says what it is, and keeps the password nowhere', async () => {
  const running = await startSite({
    broker: 'embedded',
    cameras: ['yard'],
    yaml: (at) => `
partitions: [ { id: p1, name: Shop } ]
cameras:
${camera('yard', at.cameras.yard, 'partition: p1')}
`,
  });
  site = running;
  const post = (path: string, body: unknown) => askSocket(running.socket, 'POST', path, body);
  const fresh = await startCamera({ id: 'fresh', password });
  try {
    const { cameras } = running;
    const yard = String(await cameras.yard?.until((line) => /"device_url":"([^"]+)"/.exec(line)?.[1], 'its address'));
    const search = { seconds: 2, addresses: [new URL(yard).host, new URL(fresh.url).host] };
    const { items } = foundCameras.parse((await post('/api/v1/cameras/discover', search)).body);
    expect(items.find(({ url }) => url === yard)).toMatchObject({ configured: 'yard', answers: true });
    expect(items.find(({ url }) => url === fresh.deviceUrl)).toMatchObject({ configured: null, answers: true });

    const inspect = (word: string) =>
      post('/api/v1/cameras/inspect', { url: fresh.deviceUrl, username: 'siteward', password: word });
    const { refused: before = 0 } = fresh.counts();
    expect(await inspect(`${password}-wrong`)).toMatchObject({ status: 503, body: { code: 'camera_auth' } });
    // Once without a password, to learn what it wants.
    expect((fresh.counts().refused ?? 0) - before).toBeLessThanOrEqual(3);
    const told = inspectedCamera.parse((await inspect(password)).body);
    expect(told).toMatchObject({ manufacturer: 'Siteward', authenticated: true, same_as: null });

    const audit = async () => JSON.stringify((await post('/api/v1/audit/entries', { limit: 50 })).body);
    const entries = await eventually('both in the audit log', async () => {
      const text = await audit();
      return text.split('"camera_inspect"').length > 2 ? text : undefined;
    });
    expect(entries).toContain(`address ${new URL(fresh.url).host}`);
    const bundle = JSON.stringify((await post('/api/v1/support-bundle', {})).body);
    expect(`${entries} ${running.daemon.lines().join(' ')} ${bundle}`).not.toContain(password);
    const refused = await post('/api/v1/cameras/discover', { addresses: ['10.0.0.0/16'] });
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ field: 'addresses.0' }] } });
  } finally {
    await fresh.close();
  }
}, 180_000);
