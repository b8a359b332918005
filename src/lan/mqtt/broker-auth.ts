import { createHash, timingSafeEqual } from 'node:crypto';
import type { AuthenticateError, Client, PublishPacket } from 'aedes';
import { BoundedMap } from '#lib/bounded.ts';
import type { Secret } from '#lib/secret.ts';
import { type Access, accessOf } from './acl.ts';
import type { CommandSender } from './commands.ts';
import type { Role } from './table.ts';

export interface BrokerUser {
  readonly id: string;
  readonly role: Role;
  readonly password: Secret;
}

interface Identity {
  readonly name: string | undefined;
  readonly role: Role;
  readonly access: Access;
}

/** Who may connect to the embedded broker, and who is who. Deny by default. */
export interface BrokerAuth {
  /** The MQTT 3.1.1 return code of a refusal, or undefined when the client is let in. */
  admit(client: Client, username: string | undefined, password: Uint8Array | undefined): number | undefined;
  accessOf(client: Client): Access | undefined;
  /** Keeps who published a command, for `senderOf`. */
  noteCommand(client: Client, packet: PublishPacket): void;
  senderOf(topic: string, payload: Uint8Array): CommandSender | undefined;
}

export const ownName = 'siteward';
const badLogin = 4;
const notAuthorized = 5;
const badClientId = 2;
/** Commands whose sender is remembered until siteward has read them, which takes milliseconds. */
const noteCap = 4096;

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
  const identities = new WeakMap<Client, Identity>();
  /** Who holds a client id, so that nobody takes over another's session; bounded by the broker's connections. */
  const holders = new BoundedMap<string, string>(4096);
  const notes = new BoundedMap<string, CommandSender>(noteCap);

  function identify(
    username: string | undefined,
    password: Uint8Array | undefined,
  ): Omit<Identity, 'access'> | undefined {
    if (username === undefined) return anonymous ? { name: undefined, role: 'local' } : undefined;
    const user = users.get(username);
    // The comparison runs for unknown names too: both refusals take the same time.
    const right = sameText(password ?? new Uint8Array(), user?.password.reveal() ?? '');
    return user !== undefined && right ? { name: user.id, role: user.role } : undefined;
  }

  return {
    admit(client, username, password) {
      const identity: ReturnType<typeof identify> = isOwn(client)
        ? { name: ownName, role: 'siteward' }
        : identify(username, password);
      if (identity === undefined) return username === undefined ? notAuthorized : badLogin;
      const holder = identity.name ?? '';
      if (/^siteward(-|$)/.test(client.id) && identity.role !== 'siteward') return badClientId;
      if ((holders.get(client.id) ?? holder) !== holder) return badClientId;
      holders.set(client.id, holder);
      const { name, role } = identity;
      identities.set(client, { name, role, access: accessOf(root, role, name ?? client.id, discovery) });
      return undefined;
    },
    accessOf: (client) => identities.get(client)?.access,
    noteCommand(client, packet) {
      const { name, role } = identities.get(client) ?? {};
      const sender = { client: name ?? client.id, proven: name !== undefined, ...(role !== undefined && { role }) };
      notes.set(noteKey(packet.topic, packet.payload), sender);
    },
    senderOf: (topic, payload) => notes.get(noteKey(topic, payload)),
  };
}

/** A repeat with the same bytes is the same command (rule C2), so the bytes are key enough. */
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
