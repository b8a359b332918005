import { isCode, SitewardError } from '#errors.ts';
import type { Clock } from '#lib/clock.ts';
import { bareHost } from '#lib/host.ts';
import type { Secret } from '#lib/secret.ts';
import type { AddressMode } from '../address.ts';
import { certificatePin } from '../certificate-pin.ts';
import { createDevice, type Device } from '../device.ts';
import { createReads, type DeviceInformation, type Profile, type Reads } from '../reads.ts';
import type { TopicMapping } from '../topic-options.ts';
import { loginAdvice, onvifAdvice, unreachableAdvice } from './advice.ts';
import { seeCertificate } from './certificate.ts';
import { examineEvents } from './examine-events.ts';
import { examineMedia } from './examine-media.ts';
import { identify } from './identify.ts';
import { placeAt } from './places.ts';
import { isOpen, usualPorts } from './ports.ts';
import { failed, orNothing, type Step } from './step.ts';

/** Which device, as the configuration has it or a person types it. */
export interface Examined {
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: Secret | undefined;
  readonly fingerprint?: string | undefined;
  readonly addresses?: AddressMode | undefined;
  readonly snapshotUrl?: string | undefined;
  /** See `basic_login`; a camera of the site has it false, since what it took before is not known here. */
  readonly basicLogin?: boolean | undefined;
  /** The installer's own meaning of topics. */
  readonly topics?: readonly TopicMapping[] | undefined;
  /** A camera of the site: what it says meanwhile is not told, since a silent call may be among it (safety 4). */
  readonly discreet?: boolean | undefined;
}

export interface ExamineOptions {
  readonly device: Examined;
  readonly clock: Clock;
  readonly tell: (step: Step) => void;
  readonly signal: AbortSignal;
}

/** What the steps share. */
export interface Examination extends ExamineOptions {
  readonly camera: Device;
  readonly reads: Reads;
  readonly mode: AddressMode;
}

const connectMs = 5000;

/**
 * Goes through everything siteward needs of a camera, step by step, and tells each. Stops at the first step without which
 * the others mean nothing: no connection, another certificate than the configured one, no ONVIF, no login. A wrong password
 * is tried twice at most. A subscription it makes is ended, also when the signal aborts. Throws only the signal's reason.
 */
export async function examine(options: ExamineOptions): Promise<void> {
  const { device, clock, signal } = options;
  const url = new URL(device.url);
  if (!(await reached(url, options))) return;
  const fingerprint = await certified(url, options);
  if (fingerprint === 'refused') return;
  const { username, password, addresses: mode = 'repaired' } = device;
  const pin = certificatePin({ configured: fingerprint });
  const { basicLogin } = device;
  const camera = createDevice({ url: device.url, username, password, pin, clock, basicLogin, authHoldMs: 15 * 60_000 });
  const all: Examination = { ...options, camera, reads: createReads(camera, mode), mode };
  try {
    if (!(await speaks(all))) return;
    tellClock(all);
    const information = await letIn(all);
    if (information === undefined) return;
    const service = await all.reads.services(signal).catch(orNothing(signal));
    // Some tell anybody what they are, so that only the profiles show whether the password is right.
    const profiles = await listed(all);
    if (profiles === 'refused') return;
    tellLogin(all, information);
    await examineMedia(all, profiles);
    await examineEvents(all, service ?? camera.base);
  } finally {
    camera.close();
  }
}

async function reached(url: URL, options: ExamineOptions): Promise<boolean> {
  const { tell, signal, clock } = options;
  const host = bareHost(url.hostname);
  const port = portOf(url);
  const facts = { host, port };
  if (await isOpen(host, port, { timeoutMs: connectMs, signal })) {
    tell({ name: 'reach', result: 'ok', text: `${host} takes connections at port ${port}`, facts });
    return true;
  }
  signal.throwIfAborted();
  const open = await Promise.all(
    usualPorts.map(async ({ port: at, scheme }) =>
      (await isOpen(host, at, { timeoutMs: 2000, signal })) ? [placeAt(host, { port: at, scheme })] : [],
    ),
  );
  const places = open.flat();
  const found = await identify(places, { clock, signal, patienceMs: connectMs });
  tell({
    name: 'reach',
    result: 'failed',
    code: 'camera_unreachable',
    text: `${host} takes no connection at port ${port}${places.length > 0 ? '' : `, nor at the other usual ones: ${otherPorts(port)}`}`,
    advice: unreachableAdvice(found?.place.url, places.length > 0),
    facts: { ...facts, found: found?.place.url ?? null },
  });
  return false;
}

const otherPorts = (but: number): string => usualPorts.flatMap(({ port }) => (port === but ? [] : [port])).join(', ');

const portOf = ({ port, protocol }: URL): number => (port !== '' ? Number(port) : protocol === 'https:' ? 443 : 80);

/** The fingerprint that counts from here on; undefined where an authority vouches, or for http. */
async function certified(url: URL, options: ExamineOptions): Promise<string | undefined | 'refused'> {
  const { tell, signal, device } = options;
  if (url.protocol !== 'https:') return undefined;
  try {
    const seen = await seeCertificate(url, connectMs, signal);
    const facts = { tls_fingerprint: seen.fingerprint, trusted: seen.trusted, valid_to: seen.validTo };
    const more = [`SHA-256 ${seen.fingerprint}`, `valid to ${seen.validTo}`];
    const { fingerprint: configured } = device;
    if (configured !== undefined && configured.toUpperCase() !== seen.fingerprint.toUpperCase()) {
      tell({
        name: 'certificate',
        result: 'failed',
        code: 'camera_certificate',
        text: 'it shows another certificate than the configured tls_fingerprint; no password was sent',
        more,
        advice: [
          'Was the camera reset or replaced? Compare it with its own page, then: siteward camera trust ID --reload',
          'Otherwise find out who answers there.',
        ],
        facts,
      });
      return 'refused';
    }
    const own = configured === undefined && !seen.trusted;
    tell({
      name: 'certificate',
      result: 'ok',
      text: own
        ? 'it made its certificate itself; siteward keeps to the one it sees first, or to tls_fingerprint'
        : configured === undefined
          ? 'an authority vouches for its certificate'
          : 'its certificate is the configured one',
      more,
      facts,
    });
    return seen.trusted && configured === undefined ? undefined : seen.fingerprint;
  } catch (error) {
    signal.throwIfAborted();
    tell(failed('certificate', error, ['Does this port speak https? Try the address with http:// instead.']));
    return 'refused';
  }
}

/** Whether ONVIF answers. The clock is what everybody may ask. */
async function speaks({ camera, tell, signal }: Examination): Promise<boolean> {
  try {
    await camera.readClock(signal);
    tell({ name: 'onvif', result: 'ok', text: `answers at ${camera.base.href}` });
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (isCode(error, 'camera_fault') || wantsPasswordForAll(error)) {
      tell({
        name: 'onvif',
        result: 'warning',
        text: 'answers, but does not tell its time to who has no password',
      });
      return true;
    }
    tell(failed('onvif', error, onvifAdvice(camera.base)));
    return false;
  }
}

/** Asked for credentials where the standard gives the answer to everybody. */
const wantsPasswordForAll = (error: unknown): boolean =>
  error instanceof SitewardError &&
  error.code === 'camera_bad_answer' &&
  error.cause === undefined &&
  Object.keys(error.facts).length === 0;

const goodClockS = 30;

function tellClock({ camera, tell }: Examination): void {
  const offset = camera.clock.offsetS;
  if (offset === undefined) return;
  const facts = { clock_offset_s: offset };
  const good = Math.abs(offset) <= goodClockS;
  const text = `its clock is ${offset === 0 ? 'right' : `${Math.abs(offset)} s ${offset > 0 ? 'ahead of' : 'behind'} ours`}`;
  const advice = [
    'siteward copes with it, but the times burnt into its pictures are wrong: set time zone and an NTP server in the camera.',
  ];
  tell({ name: 'clock', result: good ? 'ok' : 'warning', text, facts, ...(!good && { advice }) });
}

async function letIn(examination: Examination): Promise<DeviceInformation | undefined> {
  const { reads, tell, signal } = examination;
  try {
    return await reads.deviceInformation(signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isCode(error, 'camera_auth')) tellRefusal(examination, error);
    else
      tell(
        failed('device', error, ['Try again in a minute: it may just be starting. Then look at its ONVIF settings.']),
      );
    return undefined;
  }
}

/** The profiles, or why there are none. */
async function listed(examination: Examination): Promise<readonly Profile[] | 'refused' | SitewardError> {
  const { reads, signal } = examination;
  try {
    return await reads.profiles(signal, true);
  } catch (error) {
    signal.throwIfAborted();
    if (!isCode(error, 'camera_auth'))
      return error instanceof SitewardError
        ? error
        : new SitewardError('internal', 'the profiles cannot be read', { cause: error });
    tellRefusal(examination, error);
    return 'refused';
  }
}

function tellRefusal({ camera, device, tell }: Examination, error: unknown): void {
  const offset = camera.clock.offsetS ?? 0;
  const advice = loginAdvice({ given: device.username !== undefined, clockWrong: Math.abs(offset) > 5 });
  tell(failed('login', error, advice));
}

/** Told after more was asked: some devices tell anybody what they are. */
function tellLogin({ camera, device, tell }: Examination, information: DeviceInformation): void {
  const { manufacturer, model, firmware, serial } = information;
  if (camera.account.wasAccepted('events') === true)
    tell({
      name: 'login',
      result: 'ok',
      text: 'it takes this user name and password',
      facts: { password_needed: true },
    });
  else
    tell({
      name: 'login',
      result: 'warning',
      text: `it lets everybody in${device.username === undefined ? '' : ', so that user name and password were not even asked for'}`,
      advice: ['Anybody in this network can watch and change it: set a password in the camera.'],
      facts: { password_needed: false },
    });
  tell({
    name: 'device',
    result: 'ok',
    text: [manufacturer, model].filter((text) => text !== '').join(' ') || 'it does not tell what it is',
    more: [`firmware ${firmware || '?'}, serial number ${serial || '?'}`],
    facts: { manufacturer, model, firmware, serial },
  });
}
