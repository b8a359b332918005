import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type CameraModel,
  cameraModel,
  checkToken,
  fault,
  motion,
  type Reply,
  type Seen,
  soap,
  startCamera,
} from '../devices/onvif/scripted-camera.ts';
import { certificate } from '../harness/certificate.ts';
import { main, siteward } from './run-cli.ts';

const opened: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

const user = 'siteward';
const password = 'pässwörd-7';

/** Wants the password for everything but its time. */
const locked = (request: Seen): Reply | undefined =>
  request.operation === '' ||
  request.operation === 'GetSystemDateAndTime' ||
  checkToken(request.body, user, password, Date.now()) === undefined
    ? undefined
    : fault('NotAuthorized', 'Sender not authorized');

const answers: Readonly<Record<string, string>> = {
  GetVideoSources:
    '<trt:GetVideoSourcesResponse><trt:VideoSources token="VideoSource_1"/><trt:VideoSources token="VideoSource_2"/></trt:GetVideoSourcesResponse>',
  GetEventProperties: `<tev:GetEventPropertiesResponse><wstop:TopicSet xmlns:wstop="http://docs.oasis-open.org/wsn/t-1"><tns1:RuleEngine><CellMotionDetector><Motion wstop:topic="true"/></CellMotionDetector><Odd><Thing wstop:topic="true"/></Odd></tns1:RuleEngine></wstop:TopicSet></tev:GetEventPropertiesResponse>`,
};
const rich = (request: Seen): Reply | undefined => {
  const body = answers[request.operation];
  return body === undefined ? undefined : { body: soap(body) };
};

async function camera(change: Partial<CameraModel> = {}, tls?: { cert: string; key: string }) {
  const model = cameraModel(change);
  const made = await startCamera(model.script, 0, tls);
  opened.push(() => made.close());
  return Object.assign(made, { model });
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'siteward-camera-'));
  opened.push(() => rmSync(made, { recursive: true }));
  return made;
}

function secret(text = password): string {
  const file = join(folder(), 'secret');
  writeFileSync(file, `${text}\n`, { mode: 0o600 });
  return file;
}

function configuration(more: string): string {
  const file = join(folder(), 'siteward.yaml');
  writeFileSync(
    file,
    `site: { id: "4711", external_id: hq, timezone: Europe/Berlin }
bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: House } ]
${more}
`,
  );
  return file;
}

interface Document {
  readonly url: string;
  readonly configured: string | null;
  readonly ok: boolean;
  readonly steps: readonly {
    readonly step: string;
    readonly result: string;
    readonly text: string;
    readonly advice: string[];
  }[];
}

async function tested(args: readonly string[], input?: string) {
  const ran = await siteward(['camera', 'test', ...args, '--json'], {}, input);
  const document = JSON.parse(ran.out) as Document;
  return { ...ran, document, results: document.steps.map(({ step, result }) => `${step} ${result}`) };
}

describe('siteward camera test', () => {
  it('goes through everything, and leaves no subscription behind', async () => {
    const { url, model } = await camera({
      before: (request) => locked(request) ?? rich(request),
      queue: [motion(true)],
    });
    const { code, out, err } = await siteward(['camera', 'test', url, '--user', user, '--password-file', secret()]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const line of [
      /^✓ reachable: 127\.0\.0\.1 takes connections at port \d+$/m,
      /^✓ ONVIF: answers at http/m,
      /^✓ clock: /m,
      /^✓ user and password: it takes this user name and password$/m,
      /^✓ device: Example 007\n {4}firmware 5\.50, serial number 00012345678901234567890$/m,
      /^✓ channels: 2 video sources, 2 profiles\n {4}source 1: VideoSource_1\n {4}source 2: VideoSource_2\n {4}profiles: main \(Main\), sub \(Sub\)\n {2}→ It is a recorder/m,
      /^✓ streams: 2 stream addresses, not opened\n {4}main: rtsp:\/\/10\.0\.0\.9\/live$/m,
      /^✓ picture: a picture of 640x480, 1 KiB$/m,
      /^✓ events it has: 2 topics: siteward uses 1, leaves 0 aside and does not know 1\n {4}uses: RuleEngine\/CellMotionDetector\/Motion\n {4}does not know: RuleEngine\/Odd\/Thing$/m,
      /^✓ events: events arrive: 1 message\n {4}seen: RuleEngine\/CellMotionDetector\/Motion$/m,
      /^✓ subscription: the subscription is ended again$/m,
      /^Everything siteward needs works\.\nAdd it: siteward camera add http\S+ --id NAME --user siteward$/m,
    ])
      expect(out).toMatch(line);
    expect(out).not.toContain(password);
    expect(out).not.toContain('u:p@');
    expect({ made: model.made, live: model.live.size }).toEqual({ made: 1, live: 0 });
  });

  it('gives a camera of the site no password in clear, which the daemon may know to be wrong', async () => {
    const basic = (request: Seen): Reply | undefined =>
      request.operation === '' && request.headers.authorization === undefined
        ? { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } }
        : undefined;
    const { url, seen } = await camera({ before: basic });
    const about = `id: yard, url: "${url}", username: ${user}, password: { file: ${secret()} }`;
    const shut = configuration(`cameras: [ { ${about} } ]`);
    const { document } = await tested(['yard', '--config', shut]);
    const picture = () => document.steps.find(({ step }) => step === 'picture');
    expect(picture()).toMatchObject({ result: 'failed', text: expect.stringContaining('basic_login') });
    expect(seen.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
    const open = configuration(`cameras: [ { ${about}, basic_login: true } ]`);
    const again = await tested(['yard', '--config', open]);
    expect(again.document.steps.find(({ step }) => step === 'picture')).toMatchObject({ result: 'ok' });
  });

  it('stops after two refusals of the password, and says what may be wrong', async () => {
    const { url, seen } = await camera({ before: locked });
    const { code, document, out } = await tested([url, '--user', user, '--password-stdin'], 'wrong-one\n');
    expect(code).toBe(77);
    expect(document.steps.at(-1)).toMatchObject({ step: 'login', result: 'failed', code: 'camera_auth' });
    expect(document.steps.at(-1)?.advice.join(' ')).toMatch(/lock the account.*Hikvision.*Tapo/);
    expect(seen.filter(({ body }) => body.includes('UsernameToken'))).toHaveLength(2);
    expect(out).not.toContain('wrong-one');
  });

  it('asks for a user where one is wanted, and warns of a camera that wants none', async () => {
    const shut = await camera({ before: locked });
    const { code, document } = await tested([shut.url]);
    expect(code).toBe(77);
    expect(document.steps.at(-1)?.advice.join(' ')).toMatch(/--user NAME/);
    const open = await camera();
    const all = await tested([open.url]);
    expect(all.code).toBe(0);
    expect(all.document.steps.find(({ step }) => step === 'login')).toMatchObject({ result: 'warning' });
  });

  it.each<[string, (request: Seen) => Reply | undefined, string, RegExp]>([
    [
      'a web page',
      () => ({ headers: { 'content-type': 'text/html' }, body: '<html>login</html>' }),
      'onvif failed',
      /Switch ONVIF on/,
    ],
    [
      'full',
      ({ operation }) =>
        operation === 'CreatePullPointSubscription' ? fault('MaxPullPoints', 'too many', 500) : undefined,
      'events failed',
      /All its event subscriptions are taken/,
    ],
    [
      'without pictures',
      ({ operation }) => (operation === '' ? { status: 404, body: 'no' } : undefined),
      'picture failed',
      /snapshot_url/,
    ],
    [
      'without a profile',
      ({ operation }) => (operation === 'GetProfiles' ? { body: soap('<trt:GetProfilesResponse/>') } : undefined),
      'channels failed',
      /make one in the camera/,
    ],
  ])('says what to do with one that is %s', async (_, before, result, advice) => {
    const { url, model } = await camera({ before });
    const { code, results, document } = await tested([url]);
    expect(code).toBe(1);
    expect(results).toContain(result);
    expect(document.steps.flatMap((step) => step.advice).join(' ')).toMatch(advice);
    expect(model.live.size).toBe(0);
  });

  it('warns of a clock that is off, and copes with it', async () => {
    const { url } = await camera({ clockOffsetMs: -3_600_000 });
    const { code, document } = await tested([url]);
    expect(code).toBe(0);
    expect(document.steps.find(({ step }) => step === 'clock')).toMatchObject({
      result: 'warning',
      text: expect.stringMatching(/36\d\d s behind ours/),
    });
  });

  it('says that nobody takes the connection, with 69', async () => {
    const { url, port, close } = await camera();
    await close();
    const { code, document } = await tested([`127.0.0.1:${port}`]);
    expect({ code, url: document.url }).toEqual({ code: 69, url });
    expect(document.steps).toMatchObject([{ step: 'reach', result: 'failed', code: 'camera_unreachable' }]);
    expect(document.steps[0]?.text).toContain('8000, 8080, 2020, 8899');
  });

  it('shows the certificate of an https camera, and sends nothing to one with another than the configured', async () => {
    const made = certificate(folder());
    const fingerprint = execFileSync('openssl', ['x509', '-in', made.file, '-noout', '-fingerprint', '-sha256'], {
      encoding: 'utf8',
    })
      .trim()
      .replace(/^.*=/, '');
    const { url, seen } = await camera({ before: locked }, made);
    const { code, document } = await tested([url, '--user', user, '--password-file', secret()]);
    expect(code).toBe(0);
    expect(document.steps[1]).toMatchObject({
      step: 'certificate',
      result: 'ok',
      tls_fingerprint: fingerprint,
      trusted: false,
    });

    seen.length = 0;
    const other = `${fingerprint.slice(0, -2)}${fingerprint.endsWith('00') ? '01' : '00'}`;
    const config = configuration(
      `cameras: [ { id: yard, url: "${url}", username: ${user}, password: { file: ${secret()} }, tls_fingerprint: "${other}" } ]`,
    );
    const refused = await tested(['yard', '--config', config]);
    expect(refused.code).toBe(65);
    expect(refused.results).toEqual(['reach ok', 'certificate failed']);
    expect(seen).toEqual([]);
  });

  it('tests a configured camera or channel by its id, with its credentials', async () => {
    const { url } = await camera({
      before: (request) => locked(request) ?? rich(request),
      // A button for silent calls may hang on an input of the camera.
      queue: [motion(true), motion(false)],
    });
    const config = configuration(`cameras:
  - { id: yard, url: "${url}", username: ${user}, password: { file: ${secret()} }, topics: [ { topic: RuleEngine/Odd/Thing, class: motion } ] }
nvrs:
  - { id: rec, url: "${url.replace('127.0.0.1', 'localhost')}", username: ${user}, password: { file: ${secret()} }, channels: [ { id: gate, position: 1 } ] }`);
    for (const id of ['yard', 'gate']) {
      const { code, document, err, out } = await tested([id, '--config', config]);
      expect(document.steps.find(({ step }) => step === 'events')).toEqual({
        ...{ step: 'events', result: 'ok', advice: [] },
        text: 'events can arrive: its request for them was answered',
      });
      expect(out).not.toMatch(/"seen"|"messages"/);
      expect({ code, configured: document.configured }).toEqual({ code: 0, configured: id });
      const unknown = id === 'yard' ? [] : ['RuleEngine/Odd/Thing'];
      expect(document.steps.find(({ step }) => step === 'topics')).toMatchObject({ unknown });
      expect(err).toContain('allows only one subscription');
    }
    const { code, err } = await siteward(['camera', 'test', 'attic', '--config', config]);
    expect(code).toBe(66);
    expect(err).toMatch(/has no camera attic; it has yard, rec/);
  });

  it('does not try a configured camera whose password cannot be read', async () => {
    const { url, seen } = await camera({ before: locked });
    const config = configuration(
      `cameras: [ { id: yard, url: "${url}", username: ${user}, password: { file: /nowhere/secret } } ]`,
    );
    const { code, err } = await siteward(['camera', 'test', 'yard', '--config', config]);
    expect(code).toBe(1);
    expect(err).toMatch(/secret_unreadable/);
    expect(seen).toEqual([]);
  });

  it('ends its subscription also after Ctrl-C', async () => {
    let child: ChildProcess | undefined;
    const { url, model } = await camera({
      holdMs: 3000,
      before({ operation }) {
        if (operation === 'PullMessages') child?.kill('SIGINT');
        return undefined;
      },
    });
    child = spawn(process.execPath, [main, 'camera', 'test', url], { stdio: ['ignore', 'pipe', 'ignore'] });
    let out = '';
    child.stdout?.on('data', (bytes) => {
      out += bytes;
    });
    const code = await new Promise((resolve) => child?.once('close', resolve));
    expect({ code, made: model.made, live: model.live.size }).toEqual({ code: 1, made: 1, live: 0 });
    expect(out).toMatch(/the subscription is ended again\n\nEnded early\./);
  });

  it.each([
    [['192.0.2.0/24'], /one camera is tested at a time/],
    [['http://admin:hunter2@192.0.2.1/'], /must not hold a user name or password/],
    [['192.0.2.1', '--user', 'a', '--password', 'hunter2'], /a password is no argument/],
    [['192.0.2.1', 'hunter2'], /a password is no argument/],
    [['192.0.2.1', '--password-stdin'], /a password needs its user/],
    [['192.0.2.1', '--user', 'a'], /--password-file FILE or --password-stdin/],
  ])('with %j is wrong usage, and repeats no password', async (args, said) => {
    const { code, out, err } = await siteward(['camera', 'test', ...args]);
    expect(code).toBe(2);
    expect(err).toMatch(said);
    expect(out + err).not.toContain('hunter2');
  });
});
