import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#sandbox/demo/processes.ts';
import {
  cameraModel,
  checkToken,
  fault,
  type Reply,
  type ScriptedCamera,
  startCamera,
} from '../devices/onvif/scripted-camera.ts';
import { type Rig, startRig } from './rig.ts';

const folder = join(import.meta.dirname, '..', '..', '..', 'shared', 'data', 'onvif-captures', 'protect-listener');
const absent = !existsSync(folder);
const why = absent ? ' (skipped: ../shared is not there)' : '';

interface Recorded {
  readonly action: string;
  readonly status: number;
  readonly body: string;
}

/**
 * A camera that gives each operation's recorded answers in their order, and then what a quiet camera says. A run of equal
 * refusals is served once and empty pulls are left out, since siteward waits longer after each of them.
 */
async function recordedCamera(name: string) {
  const answers = new Map<string, Reply[]>();
  const refusals = new Set<string>();
  for (const line of readFileSync(join(folder, name, 'session.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')) {
    const { action, status, body } = JSON.parse(line) as Recorded;
    const operation = /(\w+?)(Request)?$/.exec(action)?.[1] ?? '';
    if (operation === 'PullMessages' && !body.includes('NotificationMessage')) continue;
    if (status >= 400 && refusals.has(`${operation} ${status}`)) continue;
    if (status >= 400) refusals.add(`${operation} ${status}`);
    answers.set(operation, [...(answers.get(operation) ?? []), { status, body }]);
  }
  /** A camera that only ever refused goes on refusing. */
  const next = (operation: string) => {
    const queue = answers.get(operation);
    return queue?.length === 1 && refusesAll ? queue[0] : queue?.shift();
  };
  const refusesAll = [...answers.values()].flat().every((reply) => ((reply as { status?: number }).status ?? 0) >= 400);
  const model = cameraModel();
  const server = await startCamera(async (request, camera) => next(request.operation) ?? model.script(request, camera));
  return { server, pullsLeft: () => answers.get('PullMessages')?.length ?? 0 };
}

const names = {
  motion: 'cell_motion_camera_20260321',
  nvr: 'unvr_cell_motion_119_20260321',
  full: 'dahua_dh_sd4a425db_hny_20260219',
  refused: 'hikvision_pullpoint_notauthorized',
  page: 'html_404_camera_20260321',
  nothing: 'thingino_wyze_20260321',
} as const;

describe.skipIf(absent)(`recorded camera sessions served to the daemon${why}`, () => {
  let rig: Rig;
  const recorded = {} as Record<keyof typeof names, Awaited<ReturnType<typeof recordedCamera>>>;
  beforeAll(async () => {
    const lines: string[] = [];
    for (const [at, [id, name]] of Object.entries(names).entries()) {
      const camera = await recordedCamera(name);
      recorded[id as keyof typeof names] = camera;
      lines.push(
        `  - { id: ${id}, url: "${camera.server.url}", username: u, password: { env: CAMERA_PASSWORD }, zone: "${at + 1}", ` +
          'zone_type: 24h_burglary, partition: p1, detections: [motion] }',
      );
    }
    rig = await startRig({ cloud: false, sections: `cameras:\n${lines.join('\n')}\n` });
  });
  afterAll(async () => {
    await rig?.close();
    for (const { server } of Object.values(recorded)) await server.close();
  });

  it.each([
    ['motion', '1'],
    ['nvr', '2'],
    ['full', '3'],
  ] as const)('%s: every recorded motion opens and closes zone %s and raises its alarm', async (id, zone) => {
    const { pullsLeft } = recorded[id];
    await eventually('all recorded pulls', () => (pullsLeft() === 0 ? true : undefined), { timeoutMs: 40_000 });
    await rig.lan.shows(`camera/${id}/availability`, 'online');
    const alarm = await eventually('the alarm', () =>
      rig.lan.heard
        .filter(({ topic }) => topic === 'event/alarm')
        .map(({ payload }) => JSON.parse(payload) as { zone: string; camera?: string; source: string; kind: string })
        .find((event) => event.zone === zone),
    );
    expect(alarm).toMatchObject({ source: `camera:${id}`, kind: expect.stringContaining('burglary') });
    const words = rig.lan.heard.filter(({ topic }) => topic === `zone/${zone}/state`).map(({ payload }) => payload);
    expect(words).toContain('ON');
    const edges = words.filter((word) => word !== '');
    for (const [at, word] of edges.entries()) expect(word, edges.join(' ')).not.toBe(edges[at - 1]);
  });

  it('a camera whose subscriptions were all taken was told of in words, and is heard later', async () => {
    expect(rig.daemon.stdout.join('\n')).toMatch(/subscriptions are taken/);
    await rig.lan.shows('camera/full/availability', 'online');
  });

  it('a camera that does not let siteward in is a trouble and is asked at most twice', async () => {
    const status = await eventually('the refusal in the status', async () => {
      const found = (await rig.status()).cameras.find(({ id }) => id === 'refused');
      return found?.up === false ? found : undefined;
    });
    expect(status.reason).toMatch(/user name|password/i);
    expect(rig.lan.topics.get('camera/refused/availability')).toBe('offline');
    const items = JSON.parse(rig.lan.topics.get('trouble') ?? '{}') as { items: { kind: string }[] };
    expect(items.items.map(({ kind }) => kind)).toContain('device_offline');
    const withPassword = recorded.refused.server.seen.filter(
      ({ body, headers }) => body.includes('UsernameToken') || headers.authorization !== undefined,
    );
    const creates = withPassword.filter(({ operation }) => operation === 'CreatePullPointSubscription');
    expect(creates.length).toBeGreaterThan(0);
    expect(creates.length).toBeLessThanOrEqual(2);
  });

  it.each(['page', 'nothing'] as const)('%s: a web page in place of events is told as "not ONVIF"', async (id) => {
    const text = await eventually('the reason in the status', async () => {
      const status = await rig.statusText();
      return status.split('\n').find((line) => line.trim().startsWith(`${id} `) && line.includes('DOWN'));
    });
    expect(text).toMatch(/not ONVIF/);
  });
});

describe('cameras that answer badly', () => {
  const bad: Readonly<Record<string, Reply>> = {
    text: { status: 200, headers: { 'content-type': 'text/plain' }, body: 'It works, but this is no XML at all' },
    html: {
      status: 200,
      headers: { 'content-type': 'text/html' },
      body: '<!doctype html><html><body>Login<br></body></html>',
    },
    truncated: {
      status: 200,
      body: '<?xml version="1.0"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body><tev:Cre',
    },
    bytes: { status: 200, body: Buffer.from([0xff, 0xfe, 0x00, 0x3c, 0xc3, 0x28, 0x00]) },
    nested: { status: 200, body: `<?xml version="1.0"?>${'<a>'.repeat(20_000)}` },
    endless: { endless: Buffer.alloc(64 * 1024, '<a>xxxx</a>') },
  };
  let rig: Rig;
  const cameras: Record<string, { server: ScriptedCamera; heal: () => void; queue: string[] }> = {};

  async function camera(id: string, reply: Reply | undefined) {
    const model = cameraModel();
    let broken = reply;
    model.before = (request) => (request.operation === '' ? undefined : broken);
    const server = await startCamera(model.script);
    cameras[id] = {
      server,
      queue: model.queue,
      heal: () => {
        broken = undefined;
      },
    };
    return server.url;
  }

  beforeAll(async () => {
    const lines: string[] = [];
    for (const [at, [id, reply]] of [...Object.entries(bad), ['good', undefined] as const].entries()) {
      lines.push(
        `  - { id: ${id}, url: "${await camera(id, reply)}", zone: "${at + 1}", zone_type: 24h_burglary, ` +
          'partition: p1, detections: [motion] }',
      );
    }
    rig = await startRig({ cloud: false, sections: `cameras:\n${lines.join('\n')}\n` });
  });
  afterAll(async () => {
    await rig?.close();
    for (const { server } of Object.values(cameras)) await server.close();
  });

  it('are heard as soon as they answer well again', async () => {
    const healing = [
      ['text', '1'],
      ['truncated', '3'],
    ] as const;
    for (const [id] of healing) {
      const told = (line: string) => line.includes(`"camera":"${id}"`) && line.includes('do not arrive');
      await rig.daemon.line(`${id} told as away`, (line) => (told(line) ? true : undefined));
      cameras[id]?.heal();
    }
    for (const [id, zone] of healing) {
      await rig.lan.shows(`camera/${id}/availability`, 'online', 50_000);
      cameras[id]?.queue.push(motion(true));
      await rig.lan.shows(`zone/${zone}/state`, 'ON');
    }
  });

  const staying = Object.keys(bad).filter((id) => id !== 'text' && id !== 'truncated');
  it.each(staying)('%s instead of SOAP: status says what is wrong, in words', async (id) => {
    const line = await eventually('the camera down, with a reason', async () => {
      const status = await rig.statusText();
      return status.split('\n').find((text) => text.trim().startsWith(`${id} `) && text.includes('DOWN'));
    });
    expect(line.split('DOWN')[1]?.trim().length).toBeGreaterThan(20);
    expect(line).toMatch(/camera|ONVIF|XML/i);
    expect(line).not.toMatch(/undefined|\[object|at .*\.ts:/);
    expect(rig.lan.topics.get(`camera/${id}/availability`)).toBe('offline');
  });

  it('the good camera beside them is heard', async () => {
    await rig.lan.shows('camera/good/availability', 'online');
    cameras.good?.queue.push(motion(true));
    await rig.lan.shows('zone/7/state', 'ON');
  });
});

describe('a camera with a wrong password', () => {
  const right = 'the-right-one';
  let rig: Rig;
  let guarded: ScriptedCamera;
  let open: ScriptedCamera;
  let file: string;
  beforeAll(async () => {
    const model = cameraModel();
    model.before = (request) => {
      if (request.operation === 'GetSystemDateAndTime') return undefined;
      if (request.operation === '') return { status: 401 };
      const wrong = checkToken(request.body, 'siteward', right, Date.now());
      return wrong === undefined ? undefined : fault('NotAuthorized', wrong, 400);
    };
    guarded = await startCamera(model.script);
    open = await startCamera(cameraModel().script);
    const folder = mkdtempSync(join(tmpdir(), 'siteward-secret-'));
    file = join(folder, 'password');
    writeFileSync(file, 'the-wrong-one', { mode: 0o600 });
    rig = await startRig({
      cloud: false,
      sections: `cameras:
  - { id: guarded, url: "${guarded.url}", username: siteward, password: { file: ${file} }, partition: p1 }
  - { id: open, url: "${open.url}", partition: p1 }
`,
    });
    rig.also(async () => rmSync(folder, { recursive: true, force: true }));
  });
  afterAll(async () => {
    await rig?.close();
    await guarded?.close();
    await open?.close();
  });

  it('is asked with it at most twice, is told in words, and disturbs no other camera', async () => {
    const line = await eventually('the refusal in the status', async () =>
      (await rig.statusText()).split('\n').find((text) => text.trim().startsWith('guarded ') && text.includes('DOWN')),
    );
    expect(line).toMatch(/user name or password was refused.*Correct username and password/);
    await rig.lan.shows('camera/open/availability', 'online');
    // The good camera goes on being asked; meanwhile nobody knocks at the other one.
    const pulls = open.count('PullMessages');
    await eventually('further pulls', () => (open.count('PullMessages') >= pulls + 3 ? true : undefined));
    const knocks = guarded.seen.filter(
      ({ body, headers }) => body.includes('UsernameToken') || headers.authorization !== undefined,
    );
    expect(knocks.length).toBeGreaterThan(0);
    expect(knocks.length).toBeLessThanOrEqual(2);
    expect(rig.daemon.stdout.join('\n')).not.toContain('the-wrong-one');
  });

  it('is heard as soon as the right one is given and the configuration is read again', async () => {
    const before = open.count('CreatePullPointSubscription');
    writeFileSync(file, right, { mode: 0o600 });
    rig.daemon.signal('SIGHUP');
    await rig.lan.shows('camera/guarded/availability', 'online');
    expect(open.count('CreatePullPointSubscription')).toBeLessThanOrEqual(before + 1);
  });
});

/** One notification of a motion, as many cameras write it. */
function motion(on: boolean): string {
  const at = new Date().toISOString();
  return (
    '<wsnt:NotificationMessage><wsnt:Topic Dialect="http://www.onvif.org/ver10/tev/topicExpression/ConcreteSet">' +
    'tns1:RuleEngine/CellMotionDetector/Motion</wsnt:Topic><wsnt:Message>' +
    `<tt:Message UtcTime="${at}" PropertyOperation="Changed"><tt:Source>` +
    '<tt:SimpleItem Name="VideoSourceConfigurationToken" Value="1"/></tt:Source><tt:Data>' +
    `<tt:SimpleItem Name="IsMotion" Value="${on}"/></tt:Data></tt:Message></wsnt:Message></wsnt:NotificationMessage>`
  );
}
