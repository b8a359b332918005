import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, member } from '#sandbox/demo/processes.ts';
import { type Answer, isEvent, isToken, isUpload, type Passed } from './gate.ts';
import { launch } from './process.ts';
import { cameraMain, fireIn, planted, type Rig, smoke, smokes, startRig } from './rig.ts';

const page: Answer = {
  status: 200,
  headers: { 'content-type': 'text/html' },
  body: '<!doctype html><html><title>Hotel</title><body>Accept our terms</body></html>',
};
const garbage: Answer = { status: 200, body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x00, 0xc3, 0x28]) };

/** The line of `siteward status` about a part. */
async function said(rig: Rig, part: string, pattern: RegExp): Promise<string> {
  return eventually(
    `${pattern} about ${part}`,
    async () =>
      (await rig.statusText()).split('\n').find((line) => line.trim().startsWith(`${part} `) && pattern.test(line)),
    { timeoutMs: 30_000, everyMs: 300 },
  );
}

const zoneOf = (request: Passed): string | undefined =>
  (JSON.parse(request.body.toString('utf8')) as { payload: { zone?: string } }).payload.zone;
const triesFor = (rig: Rig, zone: string) => rig.gate.passed.filter((one) => isEvent(one) && zoneOf(one) === zone);

/** Every fire of the LAN is in the cloud exactly once. */
async function nothingLost(rig: Rig): Promise<void> {
  const shown = rig.lan.heard.filter(({ topic }) => topic === 'event/alarm');
  const ids = shown.map(({ payload }) => (JSON.parse(payload) as { event_id: string }).event_id);
  expect(ids.length).toBeGreaterThan(0);
  await eventually(
    'all events in the cloud',
    async () => {
      const there = (await rig.cloud.events()).map(({ event_id }) => event_id);
      expect(new Set(there).size).toBe(there.length);
      return ids.every((id) => there.includes(id)) ? true : undefined;
    },
    { timeoutMs: 90_000 },
  );
}

/** A fault of the way to the cloud: what answers instead, and what status must say of it. */
const faults: readonly {
  readonly name: string;
  readonly on: (request: Passed) => boolean;
  readonly answer: Answer;
  readonly words: RegExp;
  readonly fresh?: true;
}[] = [
  { name: 'a token server that answers HTML', on: isToken, answer: page, words: /token/i, fresh: true },
  {
    name: 'a token server that answers 500',
    on: isToken,
    answer: { status: 500, body: '{"error":"server_error"}' },
    words: /token server.*500/,
    fresh: true,
  },
  { name: 'a token server that answers garbage', on: isToken, answer: garbage, words: /token/i, fresh: true },
  {
    name: 'a captive portal that says 200 with a page',
    on: isEvent,
    answer: page,
    words: /intercepted|not JSON|portal/i,
  },
  {
    name: 'an event endpoint that answers garbage with 200',
    on: isEvent,
    answer: garbage,
    words: /intercepted|not JSON/i,
  },
  { name: 'an event endpoint that answers 503', on: isEvent, answer: { status: 503, body: '' }, words: /503/ },
];

describe.each(faults)('$name', ({ on, answer, words, fresh }) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig({ broker: 'embedded', sections: smokes });
  });
  afterAll(() => rig?.close());

  it('is told in words; the daemon lives, and every event arrives once the fault is gone', async () => {
    if (fresh === undefined) {
      await smoke(rig.lan, 1);
      await rig.cloudHas('the event before the fault', fireIn('1'));
    } else {
      // No token from an earlier time may help.
      await rig.daemon.stop();
    }
    rig.gate.rule = (request) => (on(request) ? answer : undefined);
    if (fresh === true) {
      await rig.start();
      await rig.lan.shows('status', 'online');
    }
    await smoke(rig.lan, 2);
    await smoke(rig.lan, 3);
    const line = await said(rig, 'delivery', words);
    expect(line).toContain('degraded');
    expect(line).not.toMatch(/undefined|\[object|<html|<!doctype/i);
    expect((await rig.cloud.events()).filter(fireIn('2'))).toEqual([]);
    expect((await rig.status()).outbox?.waiting.alarm).toBeGreaterThan(0);
    expect(rig.daemon.ended()).toBeUndefined();
    rig.gate.rule = () => undefined;
    await rig.cloudHas('the event during the fault', fireIn('2'), 90_000);
    await rig.cloudHas('the other event', fireIn('3'), 90_000);
    await smoke(rig.lan, 4);
    await rig.cloudHas('the event after the fault', fireIn('4'), 90_000);
    await nothingLost(rig);
    await said(rig, 'delivery', /delivery +ok/);
  }, 200_000);
});

describe('a redirect of the event endpoint', () => {
  let rig: Rig;
  let elsewhere: Server;
  const visits: (string | undefined)[] = [];
  beforeAll(async () => {
    elsewhere = createServer((request, response) => {
      visits.push(request.headers.authorization ?? 'no bearer');
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    rig = await startRig({ broker: 'embedded', sections: smokes });
  });
  afterAll(async () => {
    await rig?.close();
    await new Promise((resolve) => elsewhere.close(resolve));
  });

  it.each([301, 302, 307, 308])(
    'with %i is never followed, and the event arrives when it is gone',
    async (status) => {
      const { port } = elsewhere.address() as AddressInfo;
      const location = `http://127.0.0.1:${port}/partner/v1/events`;
      rig.gate.rule = (request) => (isEvent(request) ? { status, headers: { location } } : undefined);
      const before = (await rig.cloud.events()).length;
      await smoke(rig.lan, 1);
      await said(rig, 'delivery', new RegExp(`${status}|redirect`));
      rig.gate.rule = () => undefined;
      await eventually(
        'both events',
        async () => ((await rig.cloud.events()).length >= before + 2 ? true : undefined),
        {
          timeoutMs: 50_000,
        },
      );
      expect(visits).toEqual([]);
      await nothingLost(rig);
    },
    120_000,
  );
});

describe('a cloud that hangs', () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig({ broker: 'embedded', sections: smokes });
  });
  afterAll(() => rig?.close());

  it('holds nothing up for good: the try ends, status says so, and the event arrives', async () => {
    rig.gate.rule = (request) => (isEvent(request) ? { hang: true } : undefined);
    await smoke(rig.lan, 1);
    await eventually('the first try', () => (triesFor(rig, '1').length > 0 ? true : undefined));
    // The LAN does not wait for the cloud.
    await smoke(rig.lan, 2);
    await eventually('the next alarm on the LAN', () =>
      rig.lan.heard.some(({ topic, payload }) => topic === 'event/alarm' && payload.includes('"zone":"2"'))
        ? true
        : undefined,
    );
    const line = await said(rig, 'delivery', /no answer in time|timeout/i);
    expect(line).toMatch(/check the line/);
    rig.gate.rule = () => undefined;
    await nothingLost(rig);
  }, 150_000);
});

describe('events the cloud refuses', () => {
  let rig: Rig;
  const refusals = { '1': 400, '2': 413, '3': 422 } as const;
  beforeAll(async () => {
    rig = await startRig({ broker: 'embedded', sections: smokes });
    rig.gate.rule = (request) => {
      const status = isEvent(request) ? refusals[zoneOf(request) as keyof typeof refusals] : undefined;
      return status === undefined
        ? undefined
        : { status, body: JSON.stringify({ error: `no_${status}`, message: 'this one not' }) };
    };
    for (const n of [1, 2, 3]) await smoke(rig.lan, n);
  });
  afterAll(() => rig?.close());

  it('do not hold up the next event', async () => {
    await eventually('all refused once', () =>
      Object.keys(refusals).every((zone) => triesFor(rig, zone).length > 0) ? true : undefined,
    );
    await smoke(rig.lan, 4);
    await rig.cloudHas('the next event', fireIn('4'), 10_000);
  });

  it.each(Object.entries(refusals))(
    'zone %s, refused with %i: tried once more, then parked with the reason',
    async (zone, status) => {
      const entry = await eventually(
        'the parked event',
        async () =>
          (await rig.events()).find(
            ({ event, delivery }) => event.zone === zone && event.status === 'active' && delivery === 'parked',
          ),
        { timeoutMs: 100_000, everyMs: 2000 },
      );
      expect(entry).toMatchObject({ tries: 2, reason: expect.stringContaining(String(status)) });
      expect(entry.reason).toContain('this one not');
      expect(await rig.eventsText()).toContain(`parked, after 2 tries, ${status}`);
    },
    120_000,
  );

  it('are counted in the status, and the rest of delivery is well', async () => {
    const status = await eventually(
      'all six parked',
      async () => {
        const found = await rig.status();
        return found.outbox?.parked === 6 ? found : undefined;
      },
      { timeoutMs: 30_000, everyMs: 500 },
    );
    expect(status.parts.find(({ name }) => name === 'delivery')?.state).toBe('ok');
    expect(await rig.statusText()).toMatch(/6 parked/);
    expect((await rig.cloud.events()).some(fireIn('1'))).toBe(false);
  });
});

describe('a token server that does not know us (invalid_grant)', () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig({ broker: 'embedded', sections: smokes });
    await rig.daemon.stop();
    rig.gate.rule = (request) =>
      isToken(request)
        ? { status: 400, body: '{"error":"invalid_grant","error_description":"unknown client"}' }
        : undefined;
    await rig.start();
    await rig.lan.shows('status', 'online');
  });
  afterAll(() => rig?.close());

  it('is told with what to check, is not stormed, and the event arrives when it knows us again', async () => {
    await smoke(rig.lan, 1);
    const line = await said(rig, 'delivery', /invalid_grant/);
    expect(line).toMatch(/Check the key/);
    expect(line).toMatch(/clock/);
    expect(line).toMatch(/client id/);
    await smoke(rig.lan, 2);
    expect(rig.gate.passed.filter(isToken).length).toBeLessThan(6);
    rig.gate.rule = () => undefined;
    // A person mended it and has the configuration read again: nothing waits for a timer then.
    const text = readFileSync(rig.configFile, 'utf8');
    writeFileSync(rig.configFile, text.replace('cloud:\n', `cloud:\n  audience: ${rig.gate.url}\n`));
    rig.daemon.signal('SIGHUP');
    await rig.cloudHas('the event', fireIn('1'), 20_000);
    await nothingLost(rig);
  }, 120_000);
});

describe('pictures the cloud refuses', () => {
  let rig: Rig;
  beforeAll(async () => {
    const camera = launch(process.execPath, [cameraMain, '--id', 'yard', '--password-env', 'CAMERA_PASSWORD'], {
      env: { CAMERA_PASSWORD: planted.cameraPassword },
    });
    const url = String(await camera.line('the camera', (line) => member(line, 'device_url')));
    const sections = `${smokes.replaceAll(/partition: (p\d) }/g, 'partition: $1, cameras: [yard] }')}cameras:
  - { id: yard, url: "${url}", username: siteward, password: { env: CAMERA_PASSWORD }, partition: p1 }
media: { snapshots: 2, interval: 500ms }
`;
    rig = await startRig({ broker: 'embedded', sections });
    rig.also(camera.stop);
    await rig.lan.shows('camera/yard/availability', 'online');
  });
  afterAll(() => rig?.close());

  it('leave the event delivered, are told with the reason, and hold no other picture up', async () => {
    rig.gate.rule = (request) => (isUpload(request) ? { status: 413, body: 'too large' } : undefined);
    await smoke(rig.lan, 1);
    await rig.cloudHas('the event', fireIn('1'));
    const entry = await eventually(
      'the failed pictures',
      async () => {
        const found = (await rig.events()).find(({ event }) => event.zone === '1' && event.status === 'active');
        return found !== undefined && found.media.length > 0 && found.media.every(({ state }) => state === 'failed')
          ? found
          : undefined;
      },
      { timeoutMs: 40_000, everyMs: 500 },
    );
    expect(entry.delivery).toBe('delivered');
    for (const picture of entry.media) expect(picture.reason).toMatch(/413|too large/);
    rig.gate.rule = () => undefined;
    await smoke(rig.lan, 2);
    const event = await rig.cloudHas('the next event', fireIn('2'));
    await eventually(
      'its pictures',
      async () =>
        (await rig.cloud.uploads()).filter(({ event_id }) => event_id === event.event_id).length ===
        event.upload_snapshot_count
          ? true
          : undefined,
      { timeoutMs: 40_000 },
    );
    expect(event.upload_snapshot_count).toBeGreaterThan(0);
    for (const request of rig.gate.passed.filter(isUpload)) expect(request.headers.authorization).toBeUndefined();
  }, 120_000);
});
