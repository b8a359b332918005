import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type NetworkInterfaceInfo, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { outlets } from '#devices/onvif/index.ts';
import { type Heard, probeMatches, startResponder } from '../devices/onvif/responder.ts';
import { cameraModel, fault, type Seen, startCamera } from '../devices/onvif/scripted-camera.ts';
import { main, siteward } from './run-cli.ts';

const opened: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const locked = ({ operation }: Seen) =>
  operation === 'GetSystemDateAndTime' ? undefined : fault('NotAuthorized', 'Sender not authorized');

async function camera(before?: typeof locked) {
  const made = await startCamera(cameraModel(before === undefined ? {} : { before }).script);
  opened.push(() => made.close());
  return made;
}

/** On the port of the standard, where the command asks. */
async function responder(script: (question: Heard) => readonly string[]) {
  const made = await startResponder(script, { port: 3702 });
  opened.push(() => made.close());
  return made;
}

function configuration(cameras: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'siteward-discover-'));
  opened.push(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'siteward.yaml');
  writeFileSync(
    file,
    `site: { id: "4711", external_id: hq, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: House } ]
cameras: ${cameras}
`,
  );
  return file;
}

const lines = (text: string) => text.trim().split('\n');

describe('siteward camera discover', () => {
  it('shows what answers on an interface, whether it wants a password, and what is configured', async () => {
    const [yard, hall] = [await camera(locked), await camera()];
    await responder(({ messageId }) => [
      probeMatches(messageId, [
        {
          endpoint: 'uuid:yard',
          scopes: [
            'onvif://www.onvif.org/name/HIKVISION%20DS-2CD2143G0-I',
            'onvif://www.onvif.org/hardware/DS-2CD2143G0-I',
          ],
          xaddrs: yard.url,
        },
        { endpoint: 'uuid:hall', scopes: ['onvif://www.onvif.org/name/H%1B%5B31mall'], xaddrs: hall.url },
      ]),
    ]);
    const config = configuration(`[ { id: yard, url: "${yard.url}" } ]`);
    const args = ['camera', 'discover', '--interface', 'lo', '--for', '1s', '--config', config];
    const { code, out, err } = await siteward(args);
    expect(code).toBe(0);
    const rows = lines(out).map((row) => row.split(/ {2,}/));
    expect(rows[0]).toEqual(['address', 'vendor', 'model', 'name', 'kind', 'password', 'configured']);
    expect(rows).toContainEqual([
      yard.url,
      'Hikvision',
      'DS-2CD2143G0-I',
      'HIKVISION DS-2CD2143G0-I',
      '?',
      'needed',
      'yard',
    ]);
    expect(rows).toContainEqual([hall.url, 'Example', '007', 'H [31mall', '?', 'none', '-']);
    expect(out).toMatch(new RegExp(`siteward camera test ${hall.url}$`, 'm'));
    expect(err).toContain('asking on lo for 1 s');

    const empty = configuration('[]');
    const wanting = await siteward(['camera', 'discover', yard.url, '--for', '1s', '--config', empty]);
    expect(wanting.out).toContain(`siteward camera test ${yard.url} --user NAME`);

    const json = await siteward([...args, '--json']);
    expect(lines(json.out).map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({
        url: yard.url,
        endpoint: 'yard',
        password_needed: true,
        configured: 'yard',
        answers: true,
      }),
    );
  });

  it('says what to try when nothing is found', async () => {
    const { code, out } = await siteward(['camera', 'discover', '--interface', 'lo', '--for', '1s']);
    expect(code).toBe(1);
    expect(out).toMatch(/No camera was found/);
    expect(out).toMatch(/multicast/);
    expect(out).toMatch(/camera discover 192\.0\.2\.0\/24/);
    expect(out).toMatch(/ONVIF is off/);
    expect((await siteward(['camera', 'discover', '--interface', 'lo', '--for', '1s', '--json'])).out).toBe('');
  });

  it('asks addresses that are given, over HTTP where UDP is silent', async () => {
    const { url, port, seen } = await camera(locked);
    const { code, out, err } = await siteward(['camera', 'discover', `127.0.0.1:${port}`, '--for', '1s', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ url, password_needed: true, configured: null });
    expect(err).toContain('asking 1 address;');
    expect(seen.some(({ headers }) => headers.authorization !== undefined)).toBe(false);
  });

  it('ends with Ctrl-C and shows what was found until then', async () => {
    const { url } = await camera();
    let child: ReturnType<typeof spawn> | undefined;
    let told = false;
    await responder(({ messageId }) => {
      if (!told) setTimeout(() => child?.kill('SIGINT'), 300);
      told = true;
      return [probeMatches(messageId, [{ endpoint: 'uuid:1', xaddrs: url }])];
    });
    const args = [main, 'camera', 'discover', '--interface', 'lo', '--for', '60s', '--json'];
    child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout?.on('data', (bytes) => {
      out += bytes;
    });
    child.stderr?.on('data', (bytes) => {
      err += bytes;
    });
    const code = await new Promise((resolve) => child?.once('close', resolve));
    expect({ code, found: JSON.parse(out) }).toMatchObject({ code: 0, found: { url } });
    expect(err).toContain('ended early');
  });

  it.each([
    [['--interface', 'none7'], /there is no interface none7 with an address; there is .*lo/],
    [['--for', '5'], /1s to 60s/],
    [['10.0.0.0/8'], /at most 4096 addresses/],
    [['http://admin:hunter2@192.0.2.1/'], /must not hold a user name or password/],
  ])('with %j is wrong usage', async (args, said) => {
    const { code, err } = await siteward(['camera', 'discover', ...args]);
    expect(code).toBe(2);
    expect(err).toMatch(said);
    expect(err).not.toContain('hunter2');
  });
});

/** A network of its own where the machine gives one, with two interfaces and IPv6; see discovery-net.ts. */
const namespaces = (() => {
  try {
    execFileSync('unshare', ['-rn', 'ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1'], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
})();

describe('siteward camera discover without a choice of interface', () => {
  /** Devices in discovery-net.ts that the command finds there. */
  async function found(mode = '') {
    const script = [
      'ip link set lo up',
      'ip link add v0 type veth peer name v1 && ip link add w0 type veth peer name w1',
      'for i in v0 v1 w0 w1; do ip link set $i up; done',
      'ip addr add 192.0.2.1/24 dev v0 && ip addr add 198.51.100.1/24 dev w0',
      mode === 'range' ? 'ip addr add 192.0.2.200/32 dev v0' : '',
      'ip -6 addr add fe80::1:1/64 dev v0 nodad && ip -6 addr add fe80::2:1/64 dev w0 nodad',
      `exec "${process.execPath}" "${join(import.meta.dirname, 'discovery-net.ts')}" ${mode}`,
    ].join('\n');
    const { out, err } = await new Promise<{ out: string; err: string }>((resolve) => {
      execFile('unshare', ['-rn', 'sh', '-ec', script], { timeout: 45_000 }, (_, stdout, stderr) =>
        resolve({ out: stdout, err: stderr }),
      );
    });
    const devices = lines(out).map(
      (line) => JSON.parse(line) as { endpoint: string; addresses: string[]; url: string },
    );
    return { devices, err };
  }

  // Where the machine gives none, `outlets` below stands alone: a skipped test would count as a failure in CI.
  const tryIt = namespaces ? it : () => undefined;
  tryIt('asks on every interface, over IPv4 and IPv6', async () => {
    const { devices, err } = await found();
    expect(devices.map(({ endpoint }) => endpoint).sort(), err).toEqual(['both', 'four', 'other', 'six']);
    const byName = new Map(devices.map((device) => [device.endpoint, device]));
    expect(byName.get('four')?.addresses).toEqual(['192.0.2.1']);
    expect(byName.get('other')?.addresses).toEqual(['198.51.100.1']);
    // Heard over IPv6 link-local only; its IPv4 address is the one that can be used.
    expect(byName.get('six')?.url).toMatch(/^http:\/\/198\.51\.100\.1:/);
    expect(byName.get('six')?.addresses).toContain('fe80::2:1%w0');
    expect(byName.get('both')?.addresses).toEqual(
      expect.arrayContaining(['192.0.2.1', expect.stringMatching(/^fe80:.*%v0$/)]),
    );
  });

  tryIt('asks the living of a range by UDP, though most of its addresses are nobody’s', async () => {
    const { devices, err } = await found('range');
    expect(devices.map(({ endpoint }) => endpoint).sort(), err).toEqual(['both', 'four']);
  });

  it(`has a way out for every address and every interface${namespaces ? '' : ' (no network namespaces here to try it in)'}`, () => {
    const address = (family: 'IPv4' | 'IPv6', text: string, internal = false) =>
      ({ family, address: text, internal, netmask: '', mac: '', cidr: null, scopeid: 0 }) as NetworkInterfaceInfo;
    const all = {
      lo: [address('IPv4', '127.0.0.1', true), address('IPv6', '::1', true)],
      eth0: [
        address('IPv4', '192.0.2.2'),
        address('IPv4', '10.0.0.2'),
        address('IPv6', 'fe80::2'),
        address('IPv6', 'fd00::2'),
      ],
      wlan0: [address('IPv6', 'fe80::3')],
    };
    const said = (only?: string) => outlets(only, all).map(({ name, address: text }) => `${name} ${text}`);
    expect(said()).toEqual(['eth0 192.0.2.2', 'eth0 10.0.0.2', 'eth0 ::%eth0', 'wlan0 ::%wlan0']);
    expect(said('lo')).toEqual(['lo 127.0.0.1', 'lo ::%lo']);
    expect(said('eth9')).toEqual([]);
  });
});
