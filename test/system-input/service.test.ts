import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually, member } from '#sandbox/demo/processes.ts';
import { isToken } from './gate.ts';
import { launch } from './process.ts';
import { cameraMain, fireIn, planted, type Rig, root, smoke, smokes, startRig } from './rig.ts';

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

/** Prints each datagram as a line and drops the descriptor `systemd-notify` passes along and waits for. */
const receiverScript = `
  $| = 1;
  my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die $!;
  while (defined $socket->recv(my $text, 4096)) { $text =~ s/\\n/ /g; print "$text\\n" }
`;

describe('the daemon as a service', () => {
  it('tells systemd READY, STATUS, signs of life, and STOPPING last', async () => {
    const site = await startRig({ cloud: false, sections: smokes });
    rig = site;
    await site.daemon.stop();
    const notify = join(site.folder, 'notify');
    const receiver = launch('perl', ['-MIO::Socket::UNIX', '-e', receiverScript, notify]);
    site.also(receiver.stop);
    await eventually('the receiver', () => (existsSync(notify) ? true : undefined));
    await site.start({ env: { NOTIFY_SOCKET: notify, WATCHDOG_USEC: '900000', WATCHDOG_PID: undefined } });
    const got = (word: string) => receiver.stdout.filter((line) => line.includes(word)).length;
    await eventually('READY', () => (got('READY=1') === 1 ? true : undefined));
    await eventually('three signs of life', () => (got('WATCHDOG=1') >= 3 ? true : undefined));
    await eventually('STATUS', () => (got('STATUS=all parts work') > 0 ? true : undefined));
    site.daemon.signal('SIGTERM');
    expect(await site.daemon.exited).toBe(0);
    await eventually('STOPPING', () => (got('STOPPING=1') === 1 ? true : undefined));
    expect(receiver.stdout.findIndex((line) => line.includes('READY=1'))).toBeLessThan(
      receiver.stdout.findIndex((line) => line.includes('STOPPING=1')),
    );
    // systemd-notify follows each message with a barrier of its own.
    expect(receiver.stdout.findLast((line) => line !== 'BARRIER=1')).toContain('STOPPING=1');
  });

  it('gives systemd no sign of life for what is not alive: STATUS names the part in trouble', async () => {
    const site = await startRig({ sections: smokes });
    rig = site;
    await site.daemon.stop();
    const notify = join(site.folder, 'notify');
    const receiver = launch('perl', ['-MIO::Socket::UNIX', '-e', receiverScript, notify]);
    site.also(receiver.stop);
    await eventually('the receiver', () => (existsSync(notify) ? true : undefined));
    site.gate.rule = () => ({ status: 503 });
    await site.start({ env: { NOTIFY_SOCKET: notify, WATCHDOG_USEC: '900000', WATCHDOG_PID: undefined } });
    await eventually('the trouble in STATUS', () =>
      receiver.stdout.some((line) => /STATUS=delivery: .*503/.test(line)) ? true : undefined,
    );
  });

  it.skipIf(process.getuid?.() !== 0)(
    'gives signs of life also where nothing can be written: it goes on from memory, and is not ended for that',
    async () => {
      const site = await startRig({ cloud: false, sections: smokes });
      rig = site;
      await site.daemon.stop();
      const notify = join(site.folder, 'notify');
      const receiver = launch('perl', ['-MIO::Socket::UNIX', '-e', receiverScript, notify]);
      site.also(receiver.stop);
      await eventually('the receiver', () => (existsSync(notify) ? true : undefined));
      const state = join(site.folder, 'state');
      execFileSync('mount', ['--bind', state, state]);
      site.also(async () => void execFileSync('umount', ['--lazy', state]));
      execFileSync('mount', ['-o', 'remount,bind,ro', state]);
      await site.start({ env: { NOTIFY_SOCKET: notify, WATCHDOG_USEC: '900000', WATCHDOG_PID: undefined } });
      const got = (word: string) => receiver.stdout.filter((line) => line.includes(word)).length;
      await eventually('STATUS', () => (got('STATUS=store: site.db cannot be used') > 0 ? true : undefined));
      await eventually('three signs of life', () => (got('WATCHDOG=1') >= 3 ? true : undefined));
      await site.daemon.stop();
    },
  );

  it('ends within five seconds of SIGTERM in the middle of a stream, with exit code 0 and nothing shown lost', async () => {
    const site = await startRig({ sections: smokes });
    rig = site;
    let streaming = true;
    const stream = (async () => {
      // What comes after the end waits in the broker and is told after the start: bounded, since all of it is waited for.
      for (let n = 0; streaming && n < 1500; n += 1) await smoke(site.lan, (n % 4) + 1);
    })();
    await eventually('the stream to run', () =>
      site.lan.heard.filter(({ topic }) => topic === 'event/alarm').length >= 50 ? true : undefined,
    );
    site.daemon.signal('SIGTERM');
    const ended = () => (site.daemon.ended() === undefined ? undefined : true);
    await eventually('the end', ended, { timeoutMs: 5000, everyMs: 20 });
    streaming = false;
    await stream;
    expect(site.daemon.ended()).toBe(0);
    expect(site.daemon.stdout.filter((line) => /"level":"(error|fatal)"/.test(line))).toEqual([]);
    const shown = site.lan.heard
      .filter(({ topic }) => topic === 'event/alarm')
      .map(({ payload }) => (JSON.parse(payload) as { event_id: string }).event_id);
    await site.start();
    await eventually(
      'every shown event in the cloud',
      async () => {
        const there = new Set((await site.cloud.events()).map(({ event_id }) => event_id));
        return shown.every((id) => there.has(id)) ? true : undefined;
      },
      { timeoutMs: 60_000, everyMs: 500 },
    );
    const there = (await site.cloud.events()).map(({ event_id }) => event_id);
    expect(new Set(there).size).toBe(there.length);
  }, 120_000);
});

describe('secrets', () => {
  it('are in no log line, status, event, metric or retained topic, whatever goes wrong', async () => {
    const camera = (id: string, password: string) => {
      const started = launch(process.execPath, [cameraMain, '--id', id, '--password-env', 'CAMERA_PASSWORD'], {
        env: { CAMERA_PASSWORD: password },
      });
      return { started, url: started.line(id, (line) => member(line, 'device_url')) };
    };
    const good = camera('good', planted.cameraPassword);
    const other = camera('other', 'a different one');
    const sections = `${smokes.replaceAll('partition: p1 }', 'partition: p1, cameras: [good] }')}cameras:
  - { id: good, url: "${await good.url}", username: siteward, password: { env: CAMERA_PASSWORD }, partition: p1 }
  - { id: other, url: "${await other.url}", username: siteward, password: { env: CAMERA_PASSWORD }, partition: p1 }
users: [ { id: anna, name: Anna, code: { env: CODE }, duress_code: { env: DURESS } } ]
log: { level: trace }
`;
    const site = await startRig({ sections });
    rig = site;
    site.also(good.started.stop);
    site.also(other.started.stop);
    await site.lan.shows('camera/good/availability', 'online');
    await eventually('the refused camera', async () =>
      (await site.status()).cameras.find(
        ({ id, up, reason }) => id === 'other' && up === false && reason?.includes('password'),
      ),
    );
    // Everything that carries a secret, done right and wrong.
    await smoke(site.lan, 1);
    await site.cloudHas('an event', fireIn('1'));
    await site.lan.publish(
      'zigbee2mqtt/keypad_1',
      JSON.stringify({ action: 'arm_all_zones', action_code: planted.code }),
    );
    for (const code of [planted.code, planted.duress, '11112222']) {
      await site.lan.command('arm', { partition: 'p2', mode: 'away' });
      await site.lan.command('disarm', { partition: 'p2', code });
    }
    await site.lan.command('disarm', { partition: 'p2', pin: planted.code });
    await site.lan.publish(`${root}/cmd/disarm`, `{"code":"${planted.code}`);
    await site.lan.publish(`${root}/cmd/${planted.code}`, '{}');
    site.gate.rule = (request) =>
      isToken(request) ? { status: 401, body: '{"error":"invalid_client"}' } : { status: 401 };
    await smoke(site.lan, 2);
    await eventually('the refusal in the status', async () =>
      /delivery +degraded/.test(await site.statusText()) ? true : undefined,
    );

    const tokens = site.gate.passed.filter(isToken).flatMap(({ answer, body }) => {
      const parsed = JSON.parse(answer ?? '{}') as { access_token?: string };
      const assertion = new URLSearchParams(body.toString('utf8')).get('assertion') ?? undefined;
      return [parsed.access_token, assertion].filter((text) => text !== undefined);
    });
    expect(tokens.length).toBeGreaterThan(1);
    const keyLines = site.privateKey.split('\n').filter((line) => line.length > 40);
    const secrets = [...Object.values(planted), ...keyLines, ...tokens];
    const retained: string[] = [];
    const client = await site.broker?.client();
    client?.on('message', (topic, payload, packet) => {
      if (packet.retain) retained.push(`${topic} ${payload.toString('latin1')}`);
    });
    await client?.subscribeAsync('#', { qos: 1 });
    await eventually('the retained topics', () => (retained.length > 10 ? true : undefined));
    const seen: Readonly<Record<string, string>> = {
      'the log': site.daemon.stdout.join('\n'),
      'standard error': site.daemon.stderr.join('\n'),
      status: `${JSON.stringify(await site.status())}${await site.statusText()}`,
      events: `${JSON.stringify(await site.events())}${await site.eventsText()}`,
      metrics: await site.metrics(),
      'retained topics': retained.join('\n'),
      'what the LAN was told': site.lan.heard.map(({ topic, payload }) => `${topic} ${payload}`).join('\n'),
    };
    for (const [where, text] of Object.entries(seen)) {
      if (where !== 'standard error') expect(text.length, where).toBeGreaterThan(100);
      for (const secret of secrets) expect(text.includes(secret), `${secret.slice(0, 6)}... in ${where}`).toBe(false);
    }
    // Every line of the log is a JSON object of its own.
    for (const line of site.daemon.stdout) {
      expect(JSON.parse(line)).toMatchObject({
        level: expect.any(String),
        time: expect.any(String),
        msg: expect.any(String),
      });
    }
  }, 120_000);
});
