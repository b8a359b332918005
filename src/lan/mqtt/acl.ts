import { discoveryFilters, filtersOf, type Role, roles, topicSpecs } from './table.ts';
import { matches, overlaps } from './topics.ts';

/** What one client may do: the table's rows for its role, with its own name filled in. Deny by default. */
export interface Access {
  mayPublish(topic: string): boolean;
  /** Whether a subscription is granted at all; each delivery is checked by `mayReceive` besides. */
  maySubscribe(filter: string): boolean;
  mayReceive(topic: string): boolean;
}

/** Topics that are not siteward's: where panel bridges speak. */
const outside: readonly Role[] = ['siteward', 'bridge', 'local'];

/** `discovery` is the prefix of Home Assistant's topics, where it is configured. */
export function accessOf(root: string, role: Role, self: string, discovery?: string): Access {
  const readable = [...filtersOf(root, role, self, 'read'), ...discoveryFilters(discovery, role, 'read')];
  const writable = [...filtersOf(root, role, self, 'write'), ...discoveryFilters(discovery, role, 'write')];
  const outsideToo = outside.includes(role);
  if (role === 'siteward') return { mayPublish: isNotBrokers, maySubscribe: isNotBrokers, mayReceive: isNotBrokers };
  const commands = writable.some((filter) => filter.startsWith(`${root}/cmd/`));
  return {
    mayPublish(topic) {
      if (!isNotBrokers(topic)) return false;
      if (!isOurs(topic) && outsideToo) return true;
      return writable.some((filter) => matches(filter, topic)) || (commands && isUnknownVerb(root, topic));
    },
    maySubscribe(filter) {
      // Codes travel under cmd: a filter that could see one of its topics is refused whole.
      if (!isNotBrokers(filter) || overlaps(filter, `${root}/cmd/+`) || coversCommands(root, filter)) return false;
      return (outsideToo && !isOurs(filter)) || readable.some((own) => overlaps(own, filter));
    },
    mayReceive: (topic) =>
      isNotBrokers(topic) && ((!isOurs(topic) && outsideToo) || readable.some((filter) => matches(filter, topic))),
  };
}

const isNotBrokers = (topic: string) => !topic.startsWith('$');
const isOurs = (topic: string) => topic === 'siteward' || topic.startsWith('siteward/');

/** A verb nobody has does no harm; who may command at all gets UNKNOWN_VERB instead of a cut connection. */
function isUnknownVerb(root: string, topic: string): boolean {
  const verb = topic.startsWith(`${root}/cmd/`) ? topic.slice(root.length + 1) : '';
  return verb !== '' && verb.split('/').length === 2 && !topicSpecs.some((spec) => spec.topic === verb);
}

/** `cmd` spelled out, or a `#` at or above its level. */
function coversCommands(root: string, filter: string): boolean {
  const levels = filter.split('/');
  const depth = root.split('/').length;
  const hash = levels.indexOf('#');
  if (!overlaps(filter, `${root}/#`)) return false;
  return (hash >= 0 && hash <= depth) || levels[depth] === 'cmd';
}

export interface AclClient {
  /** User name, which is also the client's name in `reply/<client>/...`. */
  readonly id: string;
  readonly role: Role;
  /** For panel bridges: the filters of their own topics. */
  readonly bridge?: { readonly read: readonly string[]; readonly write: readonly string[] };
}

/**
 * The text of mosquitto's `acl_file` for these clients and siteward itself (user `siteward`). Anonymous clients get nothing. Throws
 * TypeError for an id that would break out of its line.
 */
export function mosquittoAcl(root: string, clients: readonly AclClient[], discovery?: string): string {
  const blocks = [`user siteward\ntopic readwrite #`];
  for (const client of clients) {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(client.id) || client.id === 'siteward') {
      throw new TypeError('a client id is 1 to 64 letters, digits, _ or -, and not "siteward"');
    }
    if (!roles.includes(client.role)) throw new TypeError('unknown role');
    const lines = [
      ...filtersOf(root, client.role, client.id, 'read').map((filter) => `topic read ${filter}`),
      ...discoveryFilters(discovery, client.role, 'read').map((filter) => `topic read ${filter}`),
      ...filtersOf(root, client.role, client.id, 'write').map((filter) => `topic write ${filter}`),
      ...discoveryFilters(discovery, client.role, 'write').map((filter) => `topic write ${filter}`),
      ...foreign(client.bridge?.read).map((filter) => `topic read ${filter}`),
      ...foreign(client.bridge?.write).map((filter) => `topic write ${filter}`),
    ];
    blocks.push([`user ${client.id}`, ...lines].join('\n'));
  }
  return `${blocks.join('\n\n')}\n`;
}

/** A bridge's filters must leave siteward's topics alone, wildcards included. */
function foreign(filters: readonly string[] = []): readonly string[] {
  for (const filter of filters) {
    if (/[\r\n]/.test(filter) || overlaps(filter, 'siteward/#')) {
      throw new TypeError("a bridge's filter must not reach siteward's topics");
    }
  }
  return filters;
}
