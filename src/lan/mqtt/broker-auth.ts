import { createHash, timingSafeEqual } from 'node:crypto';
import type { AedesPublishPacket, AuthenticateError, Client } from 'aedes';
import { BoundedMap } from '#lib/bounded.ts';
import type { Secret } from '#lib/secret.ts';
import { unknownClient } from '#site/model/index.ts';
import { type Access, accessOf, type PanelFilters } from './acl.ts';
import { isClientName } from './commands.ts';
import type { CommandSender } from './parse.ts';
import type { Role } from './table.ts';

export interface BrokerUser {
  readonly id: string;
  readonly role: Role;
  readonly password: Secret;
  /** Of a panel bridge: the topics of its own panels. Without it, every topic that is not siteward's. */
  readonly panels?: PanelFilters | undefined;
}

interface Identity {
  readonly name: string | undefined;
  readonly role: Role;
  readonly panels?: PanelFilters | undefined;
}

interface Known extends Identity {
  /** Its user name, or what it calls itself. */
  readonly shown: string;
  readonly access: Access;
  /** The filters it has subscribed to. */
  readonly filters: Set<string>;
}

export interface Refused {
  /** Of MQTT 3.1.1. */
  readonly code: number;
  readonly reason: 'login' | 'too_many_clients' | 'too_many_of_account';
}

/** Who may connect to the embedded broker, and who is who. Deny by default. */
export interface BrokerAuth {
  /** Why a client is not let in; undefined when it is. */
  admit(client: Client, username: string | undefined, password: Uint8Array | undefined): Refused | undefined;
  accessOf(client: Client): Access | undefined;
  roleOf(client: Client): Role | undefined;
  /** Counts a filter that was granted; false when it has too many. */
  mayHold(client: Client, filter: string): boolean;
  letGo(client: Client, filters: readonly string[]): void;
  /** Keeps who published a command that now goes to siteward, for `senderOf`. */
  noteCommand(to: Client, packet: AedesPublishPacket): void;
  /** Once for each command, in their order: of two that are alike the first is asked for first. */
  senderOf(topic: string, payload: Uint8Array): CommandSender | undefined;
}

export const ownName = 'siteward';
const badClientId = 2;
const unavailable = 3;
const badLogin = 4;
const notAuthorized = 5;
/** Clients that are logged in, besides siteward's own connections; and those of one account among them. */
export const maxClients = 128;
const ofAccount = 16;
const clientIdChars = 256;
const filterCap = 256;
const filterChars = 512;
/** Commands whose sender is remembered until siteward has read them, which takes milliseconds. */
const noteCap = 16_384;
/** Of commands that are alike. */
const alikeCap = 1024;

export function brokerAuth(options: {
  readonly root: string;
  readonly users: readonly BrokerUser[];
  /** The prefix of Home Assistant's discovery topics, where it is configured. */
  readonly discovery?: string | undefined;
  /** Bound to loopback: clients without a name are let in as `local`. */
  readonly anonymous: boolean;
  /** The client is a part of this process. Nothing that came over the network can be it: siteward has no password. */
  readonly isOwn: (client: Client) => boolean;
}): BrokerAuth {
  const { root, anonymous, isOwn, discovery } = options;
  const users = new Map<string, BrokerUser>();
  for (const user of options.users) if (user.id !== ownName) users.set(user.id, user);
  /** Also of one whose connection has just ended: its will is still to be judged. */
  const known = new WeakMap<Client, Known>();
  /** Whose connection stands; bounded by `maxClients` and the daemon's own. */
  const standing = new Set<Client>();
  /** By client id, of those whose connection stands; and of who has left while a command is on its way. */
  const present = new Map<string, CommandSender>();
  const left = new BoundedMap<string, CommandSender>(noteCap);
  /** For each connection of siteward: who has sent what is on its way there. */
  const notes = new Map<Client, BoundedMap<string, CommandSender[]>>();

  function identify(username: string | undefined, password: Uint8Array | undefined): Identity | undefined {
    if (username === undefined) return anonymous ? { name: undefined, role: 'local' } : undefined;
    const user = users.get(username);
    // The comparison runs for unknown names too: both refusals take the same time.
    const right = sameText(password ?? new Uint8Array(), user?.password.reveal() ?? '');
    return user !== undefined && right ? { name: user.id, role: user.role, panels: user.panels } : undefined;
  }

  function isFull({ name }: Identity, id: string): Refused['reason'] | undefined {
    const names = [...standing].filter((client) => client.id !== id).map((client) => known.get(client)?.name);
    if (names.filter((one) => one !== ownName).length >= maxClients) return 'too_many_clients';
    const isTooMany = name !== undefined && names.filter((one) => one === name).length >= ofAccount;
    return isTooMany ? 'too_many_of_account' : undefined;
  }

  return {
    admit(client, username, password) {
      const identity = isOwn(client) ? ({ name: ownName, role: 'siteward' } as const) : identify(username, password);
      if (identity === undefined) return { code: username === undefined ? notAuthorized : badLogin, reason: 'login' };
      const { name, role } = identity;
      if (client.id.length > clientIdChars) return { code: badClientId, reason: 'login' };
      if (/^siteward(-|$)/.test(client.id) && role !== 'siteward') return { code: badClientId, reason: 'login' };
      const shown = name ?? (isClientName(client.id) ? client.id : unknownClient);
      // Ids are an account's own: only who has its password takes the place, or the session, of one of its clients.
      client.id = `${name ?? ''}/${client.id}`;
      const reason = role === 'siteward' ? undefined : isFull(identity, client.id);
      if (reason !== undefined) return { code: unavailable, reason };
      const access = accessOf(root, role, shown, discovery, identity.panels);
      known.set(client, { ...identity, shown, access, filters: new Set() });
      const sender: CommandSender = { client: shown, proven: name !== undefined, role };
      standing.add(client);
      present.set(client.id, sender);
      client.conn.once('close', () => {
        standing.delete(client);
        notes.delete(client);
        // Another of its account may have its id by now.
        if (present.get(client.id) === sender) present.delete(client.id);
        left.set(client.id, sender);
      });
      return undefined;
    },
    accessOf: (client) => known.get(client)?.access,
    roleOf: (client) => known.get(client)?.role,
    mayHold(client, filter) {
      const { filters, role } = known.get(client) ?? {};
      if (filters === undefined || filter.length > filterChars) return false;
      if (role !== 'siteward' && filters.size >= filterCap && !filters.has(filter)) return false;
      filters.add(filter);
      return true;
    },
    letGo(client, filters) {
      for (const filter of filters) known.get(client)?.filters.delete(filter);
    },
    noteCommand(to, packet) {
      const id = 'clientId' in packet ? String(packet.clientId) : '';
      const sender = present.get(id) ?? left.get(id);
      if (sender === undefined) return;
      const own = notes.get(to) ?? new BoundedMap<string, CommandSender[]>(noteCap);
      notes.set(to, own);
      const key = noteKey(packet.topic, packet.payload);
      own.set(key, [...(own.get(key) ?? []), sender].slice(-alikeCap));
    },
    senderOf(topic, payload) {
      const key = noteKey(topic, payload);
      for (const own of notes.values()) {
        const [first, ...rest] = own.get(key) ?? [];
        if (first === undefined) continue;
        if (rest.length > 0) own.set(key, rest);
        else own.delete(key);
        return first;
      }
      return undefined;
    },
  };
}

function noteKey(topic: string, payload: string | Uint8Array): string {
  return `${topic}\n${createHash('sha256').update(payload).digest('base64')}`;
}

function sameText(given: Uint8Array, wanted: string): boolean {
  const hash = (value: string | Uint8Array) => createHash('sha256').update(value).digest();
  return timingSafeEqual(hash(given), hash(wanted)) && wanted !== '';
}

export function refusal(returnCode: number): AuthenticateError {
  return Object.assign(new Error('connection refused'), { returnCode });
}
