import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'yaml';
import { slugOf } from '#box/broker.ts';
import { panelTopics, profileFolders } from '#box/folders.ts';
import { changeSection, mustLetIn, type Settings, writeSecretFile } from '#config/index.ts';
import { SitewardError } from '#errors.ts';
import {
  isPasswordOf,
  type Listeners,
  listenersIn,
  mosquittoAcl,
  mosquittoConf,
  passwordHash,
  passwordsIn,
  rootOf,
} from '#lan/mqtt/index.ts';
import { ensureAuthority, ensureServer, isServerDue, namesOfMachine, serverFiles } from '#lib/certificates.ts';
import { hostAndPort, isLoopback } from '#lib/host.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import {
  accountsOf,
  confFile,
  filesIn,
  makeFolder,
  mosquittoOwners,
  namedPasswords,
  newPassword,
  ownAccount,
  refused,
  siteAuthority,
  textOf,
  writeChanged,
} from './mqtt-files.ts';
import { withFile } from './named-file.ts';
import { mustBeGood, openSiteFile, type SiteFile, secretFolder, secretOwner, writeSiteFile } from './site-file.ts';
import { table } from './table.ts';

export interface ProvisionOptions {
  readonly config: string;
  readonly dir: string;
  readonly conf?: string;
  readonly listen?: string;
  readonly own?: string;
  /** False takes it away; undefined and true leave it as it is. */
  readonly plain?: string | boolean;
  readonly user: string;
  readonly dryRun: boolean;
  readonly json: boolean;
  readonly withPasswords: boolean;
}

/** `siteward mqtt provision`. Run again it changes only what is not as the configuration says. */
export async function provision(options: ProvisionOptions): Promise<ExitCode> {
  const site = openSiteFile(options.config);
  const dir = resolve(options.dir);
  const conf = confFile(dir, options.conf);
  const files = filesIn(dir);
  const confBefore = await textOf(conf.path);
  const listeners = listenersOf(site.settings, listenersIn(confBefore), options);
  const texts = { conf: mosquittoConf(dir, listeners), rights: rightsText(site) };
  const passwords = await passwordsOf(site, files.passwords);
  const yaml = changedConfig(site, listeners, files.authority, passwords.ownFile);
  mustBeGood(site, yaml);
  if (options.json && !options.withPasswords && !options.dryRun && passwords.shown.size > 0)
    throw refused(
      `${[...passwords.shown.keys()].join(', ')} would get a new password that nobody sees: say --with-passwords as well, or leave --json out`,
    );
  const server = serverFiles(dir);
  const names = namesOfMachine(site.settings.mqtt.names);
  const due = await isServerDue(server, siteAuthority(site), names);
  const written = options.dryRun
    ? []
    : await writeAll({ site, dir, conf: conf.path, texts, passwords, yaml, names, user: options.user }, () => {
        if (passwords.shown.size === 0) return;
        if (options.json) console.log(JSON.stringify({ new_passwords: Object.fromEntries(passwords.shown) }));
        else sayPasswords(passwords);
      });
  const restart = due || confBefore !== texts.conf;
  if (options.json) {
    const clients = [{ id: ownAccount, role: ownAccount }, ...accountsOf(site)].map(({ id, role }) => ({
      id,
      role,
      password: passwords.made.has(id) ? 'new' : 'kept',
      ...(options.withPasswords && { new_password: passwords.shown.get(id) ?? null }),
    }));
    console.log(
      JSON.stringify({ dir, conf: conf.path, listeners, names, clients, written, restart, dry_run: options.dryRun }),
    );
    return exitCodes.ok;
  }
  say({ site, options, dir, conf, listeners, names, passwords, written, restart });
  return exitCodes.ok;
}

function say(about: {
  site: SiteFile;
  options: ProvisionOptions;
  dir: string;
  conf: ReturnType<typeof confFile>;
  listeners: Listeners;
  names: readonly string[];
  passwords: Passwords;
  written: readonly string[];
  restart: boolean;
}): void {
  const { site, options, dir, conf, listeners, names, passwords, written, restart } = about;
  console.log(
    table([
      ['clients, with TLS', listeners.lan],
      ['siteward itself', listeners.own],
      ...(listeners.plain === undefined ? [] : [['without TLS', listeners.plain]]),
      ['certificate for', names.join(', ')],
      ['for the clients', `${filesIn(dir).authority} (they trust this authority)`],
    ]),
  );
  const open = accountsOf(site).filter(({ role, panels }) => role === 'bridge' && panels === undefined);
  for (const { id } of open)
    console.log(
      `\nThe bridge ${id} may use every topic that is not siteward's, so that "siteward panel learn" hears it. Name its panels (mqtt.clients, "panels"), and run this again.`,
    );
  if (options.dryRun) {
    const made = [...passwords.made.keys()];
    console.log(`\nnothing was written${made.length === 0 ? '' : `; new passwords for ${made.join(', ')}`}`);
    return;
  }
  if (passwords.shown.size > 0) sayPasswords(passwords);
  console.log(written.length === 0 ? '\neverything was as it should be' : `\nwritten: ${written.join(', ')}`);
  if (written.length === 0) return;
  if (!conf.included)
    console.log(`mosquitto does not read it by itself: add "include_dir ${dir}" to its configuration`);
  console.log(`It is taken with: systemctl ${restart ? 'restart' : 'reload'} mosquitto && systemctl reload siteward`);
}

function sayPasswords({ shown }: Passwords): void {
  console.log('\nNew passwords. They are shown this once; mosquitto keeps only their hashes:\n');
  console.log(table([...shown], '  '));
}

function listenersOf(
  { mqtt }: Settings,
  before: Listeners | undefined,
  { listen, own, plain }: ProvisionOptions,
): Listeners {
  const [, secure, at, host] = /^mqtt(s?):\/\/((.+):\d+)$/.exec(mqtt.broker) ?? [];
  if (host !== undefined && !isLoopback(host))
    throw refused(
      `mqtt.broker is ${mqtt.broker}, a broker on another machine: this sets up the mosquitto of this one. Take mqtt.broker out of the configuration first`,
    );
  const listeners = {
    lan: listen ?? before?.lan ?? '0.0.0.0:8883',
    own: own ?? (secure === 's' ? at : undefined) ?? before?.own ?? '127.0.0.1:8884',
    plain: typeof plain === 'string' ? plain : plain === false ? undefined : before?.plain,
  };
  if (!isLoopback(hostAndPort(listeners.own).host))
    throw refused('--own must be an address on loopback, such as 127.0.0.1:8884');
  return listeners;
}

/** The access rules, with the topics of each panel's profile. */
function rightsText(site: SiteFile): string {
  const { mqtt, site: about } = site.settings;
  const topics = panelTopics(site.settings, profileFolders(site.file));
  const clients = accountsOf(site).map(({ id, role, panels: own }) => ({
    id,
    role,
    panels: own === undefined ? undefined : topics(own),
  }));
  try {
    return mosquittoAcl(rootOf(slugOf(about.external_id)), clients, {
      panels: topics(),
      discovery: mqtt.home_assistant?.prefix,
    });
  } catch (cause) {
    throw new SitewardError('mqtt_refused', 'a panel has topics among those of siteward; change its variables', {
      cause,
    });
  }
}

interface Passwords {
  /** The whole of mosquitto's file. */
  readonly text: string;
  /** Clients whose line is new. */
  readonly made: ReadonlySet<string>;
  /** New ones that somebody must be told. */
  readonly shown: ReadonlyMap<string, string>;
  /** siteward's own, where it gets a new one. */
  readonly own: string | undefined;
  readonly ownFile: string;
}

/** A line for each client of the configuration, and none for anybody else. */
async function passwordsOf(site: SiteFile, file: string): Promise<Passwords> {
  const before = passwordsIn(await textOf(file));
  const named = namedPasswords(site);
  const ownFile = ownSecretFile(site);
  const ownBefore = (await textOf(ownFile)).trimEnd();
  const [lines, made, shown] = [new Map<string, string>(), new Set<string>(), new Map<string, string>()];
  const add = (id: string, password: string | undefined): string | undefined => {
    const hash = before.get(id);
    const isKept = hash !== undefined && (password === undefined || isPasswordOf(hash, password));
    const text = password ?? newPassword();
    lines.set(id, isKept ? hash : passwordHash(text));
    if (isKept) return undefined;
    made.add(id);
    return text;
  };
  const own = add(ownAccount, ownBefore === '' ? newPassword() : ownBefore);
  for (const { id } of accountsOf(site)) {
    const text = add(id, named.get(id)?.reveal());
    if (text !== undefined && !named.has(id)) shown.set(id, text);
  }
  const text = [...lines].map(([id, hash]) => `${id}:${hash}\n`).join('');
  return { text, made, shown, own: ownBefore === '' ? own : undefined, ownFile };
}

const ownSecretFile = (site: SiteFile): string => join(secretFolder(site), 'mqtt-siteward');

/** The configuration with siteward's own way to mosquitto; every other line stays. */
function changedConfig({ text, settings: { mqtt } }: SiteFile, { own }: Listeners, ca: string, secret: string): string {
  const broker = `mqtts://${own}`;
  const isSame = mqtt.broker === broker && mqtt.username === ownAccount && mqtt.ca === ca;
  const written = parse(text, { logLevel: 'silent' }) as { mqtt?: { password?: { file?: unknown } } };
  if (isSame && written.mqtt?.password?.file === secret) return text;
  return changeSection(text, 'mqtt', { broker, username: ownAccount, password: { file: secret }, ca });
}

/**
 * What nobody must miss first, what names it last. Names the files it changed. `onHalf`: it fails, and new passwords count already
 * that nobody has seen.
 */
async function writeAll(
  what: {
    site: SiteFile;
    dir: string;
    conf: string;
    texts: { readonly conf: string; readonly rights: string };
    passwords: Passwords;
    yaml: string;
    names: readonly string[];
    user: string;
  },
  onHalf: () => void,
): Promise<readonly string[]> {
  const { site, dir, conf, texts, passwords, yaml, names, user } = what;
  const { store } = site.settings;
  if (!existsSync(store.dir))
    throw new SitewardError(
      'state_dir_unusable',
      `${store.dir} is not there yet: start siteward once, then run this again`,
    );
  const { shared, alone } = await mosquittoOwners(user);
  const owner = await secretOwner(site);
  await mustLetIn(dirname(passwords.ownFile), owner);
  const signal = AbortSignal.timeout(60_000);
  const authority = siteAuthority(site);
  const server = serverFiles(dir);
  const files = filesIn(dir);
  const done: string[] = [];
  const note = (path: string, changed: boolean) => (changed ? done.push(path) : undefined);
  console.error('making keys and certificates, and hashing passwords');
  await makeFolder(dir, shared, 0o755);
  await withFile(dirname(authority.cert), async () => {
    await makeFolder(dirname(authority.cert), owner);
    const name = `siteward ${slugOf(site.settings.site.external_id)}`;
    note(authority.cert, (await ensureAuthority(authority, { name, owner, signal })) === 'made');
  });
  const made = await withFile(dir, () => ensureServer(server, { authority, names, owner: alone, signal }));
  note(server.cert, made === 'made');
  note(files.authority, await writeChanged(files.authority, await textOf(authority.cert), 0o644, shared));
  note(files.rights, await writeChanged(files.rights, texts.rights, 0o640, shared));
  if (passwords.own !== undefined) {
    await withFile(passwords.ownFile, async () => {
      await makeFolder(dirname(passwords.ownFile), owner);
      await writeSecretFile(passwords.ownFile, passwords.own ?? '', owner);
    });
    done.push(passwords.ownFile);
  }
  note(files.passwords, await writeChanged(files.passwords, passwords.text, 0o640, shared));
  try {
    note(conf, await writeChanged(conf, texts.conf, 0o644, shared));
    if (yaml !== site.text) {
      await writeSiteFile(site, yaml);
      done.push(site.file);
    }
  } catch (error) {
    onHalf();
    throw error;
  }
  return done;
}
