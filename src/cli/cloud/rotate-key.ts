import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { runningDaemon } from '#box/lock.ts';
import { applyChanges, beginSave, endSave, removeSecrets, unusedSecrets } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import { configShown } from '#lan/http/index.ts';
import { answered, openControl, patience } from '../control.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { howToReload, reloadUntil } from '../reload-daemon.ts';
import { openSiteFile, type SiteFile, secretOwner, writeSiteFile } from '../site-file.ts';
import { printable } from '../table.ts';
import { applicationOf, applicationText } from './application.ts';
import { dropKeyNote, type KeyNote, keepKeyNote, readKeyNote } from './key-note.ts';
import { type FoundKey, newKey, publicHalf, writtenEvents, writtenKey } from './keys.ts';
import { checkToken } from './token.ts';

export interface RotateKeyOptions {
  readonly config: string;
  readonly socket: string;
  readonly keyId?: string;
  readonly cancel: boolean;
  readonly dryRun: boolean;
  readonly json: boolean;
}

/**
 * `siteward cloud rotate-key`: a new key for events, in two calls. The first makes it and writes it as `next_private_key`, so that the
 * token source knows both; the second, once the operator has its public half, gets a token with it, makes it the current one and removes
 * the old. What is in line waits and is sent under either. Each step is written before the next begins: a call that was ended is made again.
 */
export async function rotateKey(options: RotateKeyOptions): Promise<ExitCode> {
  const site = openSiteFile(options.config);
  const { cloud } = site.settings;
  if (cloud === undefined) throw refused(`${site.file} has no section "cloud": there is no key to change`);
  const next = writtenKey(site, 'next');
  const note = await earlierChange(site, next);
  if (note !== undefined || (await isBehind(site, options))) return await finishEarlier(site, options, note);
  if (options.cancel) return await cancel(site, next, options);
  if (next === undefined) return await begin(site, options);
  return await change(site, next, options);
}

const refused = (message: string) => new SitewardError('config_invalid', message);

/** Step one. */
async function begin(site: SiteFile, options: RotateKeyOptions): Promise<ExitCode> {
  const { json, dryRun } = options;
  if (dryRun) {
    tell(options, `a new key would be made and written as cloud.events.next_private_key of ${site.file}`);
    if (json) console.log(JSON.stringify({ step: 'begin', written: false }));
    return exitCodes.ok;
  }
  const made = await newKey(site, (path) => beginSave(site.file, [path]));
  const { thumbprint } = await publicHalf(made.key);
  // A service that was never told an id of a key looks through all of the client.
  const isNamed = options.keyId !== undefined || site.settings.cloud?.events.key_id !== undefined;
  const keyId = isNamed ? (options.keyId ?? thumbprint) : undefined;
  const members = { next_private_key: { file: made.path }, ...(keyId !== undefined && { next_key_id: keyId }) };
  const after = withEvents(site.text, members);
  try {
    await write(site, after);
  } catch (error) {
    await removeSecrets(made.path === undefined ? [] : [made.path]);
    throw error;
  }
  await take({ ...site, text: after }, options);
  await endSave(site.file, { file: after, inForce: after });
  const key = { ...made.key, ...(keyId !== undefined && { keyId }) };
  await show(site, { ...made, key }, options, 'begun');
  return exitCodes.ok;
}

async function show(site: SiteFile, { key }: FoundKey, options: RotateKeyOptions, step: string): Promise<void> {
  const application = await applicationOf({ key, settings: site.settings });
  if (options.json) return console.log(JSON.stringify({ step, registration: application }));
  console.log(applicationText(application));
  tell(options, 'Give the new public key to the operator, who keeps the old one for now. Then run this again:');
  tell(options, '  siteward cloud rotate-key');
}

/** Step two. */
async function change(site: SiteFile, written: FoundKey, options: RotateKeyOptions): Promise<ExitCode> {
  const { cloud } = site.settings;
  if (cloud === undefined) throw refused('no cloud');
  const keyId = options.keyId ?? written.key.keyId;
  const key = { pem: written.key.pem, ...(keyId !== undefined && { keyId }) };
  try {
    await checkToken(cloud, key);
  } catch (error) {
    // The daemon has to know both meanwhile, whatever ended an earlier call.
    if (!options.dryRun) await take(site, options);
    tell(options, 'The token server does not take the new key yet; the old one stays in use, and nothing was changed.');
    tell(options, 'Its registration is shown again with: siteward cloud registration --next');
    throw error;
  }
  tell(options, 'the token server takes the new key');
  const events = writtenEvents(site.text) ?? {};
  const after = withEvents(site.text, {
    private_key: events.next_private_key,
    key_id: keyId ?? null,
    next_private_key: null,
    next_key_id: null,
  });
  if (options.dryRun) {
    tell(options, `it would become cloud.events.private_key of ${site.file}, and the old one be removed`);
    if (options.json) console.log(JSON.stringify({ step: 'change', written: false }));
    return exitCodes.ok;
  }
  const old = fileOf(events.private_key);
  const unused = old === undefined ? [] : unusedSecrets(site.file, [old], { before: site.text, after });
  const left = old !== undefined && unused.length === 0 ? old : undefined;
  const { thumbprint } = await publicHalf(key);
  // Noted first: what is killed in between leaves no key behind for good, and the next call does not begin another.
  await beginSave(site.file, unused);
  const note = { thumbprint, ...(left !== undefined && { left }) };
  await keepKeyNote(site.settings.store.dir, note, await secretOwner(site));
  await write(site, after);
  return await finishEarlier({ ...site, text: after }, options, note);
}

/** A change that was written and of which no call has said yet that it is done. A note of another key is of one that was never written. */
async function earlierChange(site: SiteFile, next: FoundKey | undefined): Promise<KeyNote | undefined> {
  const note = next === undefined ? await readKeyNote(site.settings.store.dir) : undefined;
  const current = note === undefined ? undefined : writtenKey(site, 'current');
  if (current === undefined) return undefined;
  return (await publicHalf(current.key)).thumbprint === note?.thumbprint ? note : undefined;
}

function done(options: RotateKeyOptions, left?: string): ExitCode {
  if (options.json) console.log(JSON.stringify({ step: 'done', ...(left !== undefined && { left }) }));
  tell(options, 'the new key is in use. Have the operator remove the old one now');
  if (left !== undefined)
    tell(options, `the old private key in ${printable(left)} was not made by siteward and stays: remove it yourself`);
  return exitCodes.ok;
}

async function cancel(site: SiteFile, next: FoundKey | undefined, options: RotateKeyOptions): Promise<ExitCode> {
  if (next === undefined) throw refused(`${site.file} has no next key: there is nothing to take back`);
  const after = withEvents(site.text, { next_private_key: null, next_key_id: null });
  if (!options.dryRun) {
    const unused = next.path === undefined ? [] : unusedSecrets(site.file, [next.path], { before: site.text, after });
    await beginSave(site.file, unused);
    await write(site, after);
    await take({ ...site, text: after }, options);
    await endSave(site.file, { file: after, inForce: after });
  }
  if (options.json) console.log(JSON.stringify({ step: 'cancelled', written: !options.dryRun }));
  tell(options, options.dryRun ? 'the new key would be taken back' : 'the new key is taken back; the old one stays');
  return exitCodes.ok;
}

/** The new key is written as the current one, by this call or an earlier one; the daemon may not know yet. */
async function finishEarlier(site: SiteFile, options: RotateKeyOptions, note?: KeyNote): Promise<ExitCode> {
  if (options.dryRun) {
    if (options.json) console.log(JSON.stringify({ step: 'done', written: false }));
    tell(options, 'an earlier change is written already; the daemon would be told');
    return exitCodes.ok;
  }
  await take(site, options);
  await endSave(site.file, { file: site.text, inForce: site.text });
  const code = done(options, note?.left);
  await dropKeyNote(site.settings.store.dir);
  return code;
}

const isBehind = async (site: SiteFile, { socket }: RotateKeyOptions): Promise<boolean> => {
  if (runningDaemon(site.settings.store.dir) === undefined) return false;
  const events = await eventsInForce(socket);
  const written = writtenEvents(site.text);
  return written?.next_private_key === undefined && isDeepStrictEqual(written?.private_key, events?.next_private_key);
};

async function eventsInForce(socket: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  await using control = openControl(socket);
  const { config } = configShown.parse(answered(await control.client.getConfig({ signal: patience() })).json);
  return (config as { cloud?: { events?: Readonly<Record<string, unknown>> } }).cloud?.events;
}

/** Has the daemon take the keys as they are written, where one runs. */
async function take(site: SiteFile, options: RotateKeyOptions): Promise<void> {
  const stateDir = site.settings.store.dir;
  if (runningDaemon(stateDir) === undefined) return tell(options, `no siteward runs here now; ${howToReload}`);
  const wanted = keysIn(writtenEvents(site.text));
  const isTaken = async () => isDeepStrictEqual(keysIn(await eventsInForce(options.socket)), wanted);
  if (await isTaken()) return;
  await reloadUntil({ stateDir, socket: options.socket, isTaken, isWritten: true });
}

const keysIn = (events: Readonly<Record<string, unknown>> = {}) => {
  const { private_key, next_private_key, key_id, next_key_id } = events;
  return { private_key, next_private_key, key_id, next_key_id };
};

const write = (site: SiteFile, text: string): Promise<void> => writeSiteFile(site, text, { backup: true });

/** The text with these members of `cloud.events`; null takes one away. All others stay. */
function withEvents(text: string, members: Readonly<Record<string, unknown>>): string {
  const { cloud } = parse(text, { logLevel: 'silent' }) as { cloud: { events: object } };
  const events = Object.entries({ ...cloud.events, ...members }).filter(([, value]) => value !== null);
  return applyChanges(text, [{ do: 'set', section: 'cloud', members: { events: Object.fromEntries(events) } }]);
}

function fileOf(ref: unknown): string | undefined {
  return typeof ref === 'object' && ref !== null && 'file' in ref ? String(ref.file) : undefined;
}

/** Beside JSON on standard output nothing else stands there. */
const tell = ({ json }: Pick<RotateKeyOptions, 'json'>, text: string): void =>
  json ? console.error(printable(text)) : console.log(text.startsWith('  ') ? `  ${printable(text)}` : printable(text));
