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

/**
 * `discovery` is the prefix of Home Assistant's topics, where it is configured; `panels` are those of a bridge, where they are
 * named.
 */
export function accessOf(
  root: string,
  role: Role,
  self: string,
  discovery?: string,
  panels: PanelFilters | undefined = undefined,
): Access {
  const own = role === 'bridge' ? panels : undefined;
  const rights = (access: 'read' | 'write') => [
    ...filtersOf(root, role, self, access),
    ...discoveryFilters(discovery, role, access),
  ];
  const readable = [...rights('read'), ...foreign(own?.takes)];
  const writable = [...rights('write'), ...foreign(own?.tells)];
  const denied = role === 'bridge' ? announcements(discovery) : [];
  const isOutside = (topic: string) => !isOurs(topic) && !denied.some((filter) => matches(filter, topic));
  const outsideToo = outside.includes(role) && own === undefined;
  if (role === 'siteward') return { mayPublish: isNotBrokers, maySubscribe: isNotBrokers, mayReceive: isNotBrokers };
  const commands = writable.some((filter) => filter.startsWith(`${root}/cmd/`));
  return {
    mayPublish(topic) {
      if (!isNotBrokers(topic)) return false;
      if (isOutside(topic) && outsideToo) return true;
      return writable.some((filter) => matches(filter, topic)) || (commands && isUnknownVerb(root, topic));
    },
    maySubscribe(filter) {
      // Codes travel under cmd: a filter that could see one of its topics is refused whole.
      if (!isNotBrokers(filter) || overlaps(filter, `${root}/cmd/+`) || coversCommands(root, filter)) return false;
      return (outsideToo && !isOurs(filter)) || readable.some((own) => overlaps(own, filter));
    },
    mayReceive: (topic) =>
      isNotBrokers(topic) && ((isOutside(topic) && outsideToo) || readable.some((filter) => matches(filter, topic))),
  };
}

/** What siteward tells Home Assistant of itself: who writes there decides where a code that is typed goes. */
const announcements = (discovery: string | undefined) =>
  discovery === undefined ? [] : [`${discovery}/device/+/config`];

const isNotBrokers = (topic: string) => !topic.startsWith('$');
const isOurs = (topic: string) => topic === 'siteward' || topic.startsWith('siteward/');

/** A verb nobody has does no harm; who may command at all gets UNKNOWN_VERB instead of a cut connection. */
function isUnknownVerb(root: string, topic: string): boolean {
  const verb = topic.startsWith(`${root}/cmd/`) ? topic.slice(root.length + '/cmd/'.length) : '';
  return verb !== '' && !verb.includes('/') && !topicSpecs.some((spec) => spec.topic === `cmd/${verb}`);
}

/** `cmd` spelled out, or a `#` at or above its level. */
function coversCommands(root: string, filter: string): boolean {
  const levels = filter.split('/');
  const depth = root.split('/').length;
  const hash = levels.indexOf('#');
  if (!overlaps(filter, `${root}/#`)) return false;
  return (hash >= 0 && hash <= depth) || levels[depth] === 'cmd';
}

interface AclClient {
  /** User name, which is also the client's name in `reply/<client>/...`. */
  readonly id: string;
  readonly role: Role;
  /** Of a panel bridge: the topics of its own panels. Without it, every topic that is not siteward's. */
  readonly panels?: PanelFilters | undefined;
}

/** The topics a panel's bridge tells on, and those it takes commands on. */
export interface PanelFilters {
  readonly tells: readonly string[];
  readonly takes: readonly string[];
}

/**
 * The text of mosquitto's `acl_file` for these clients and siteward itself (user `siteward`), which speaks to `panels`. Anonymous
 * clients get nothing. Throws TypeError for an id or filter that would reach further than it says.
 */
export function mosquittoAcl(
  root: string,
  clients: readonly AclClient[],
  { panels, discovery }: { readonly panels?: PanelFilters; readonly discovery?: string | undefined } = {},
): string {
  const own = panels ?? { tells: [], takes: [] };
  // While it is not known what a bridge says, siteward listens to all of it ("siteward panel learn").
  const learns = clients.some((client) => client.role === 'bridge' && client.panels === undefined);
  const blocks = [
    block(ownUser, {
      // Its own topics whole: it answers unknown verbs, clears retained commands and what an earlier configuration left.
      read: [`${root}/#`, ...discoveryFilters(discovery, 'siteward', 'read'), ...(learns ? ['#'] : foreign(own.tells))],
      write: [`${root}/#`, ...discoveryFilters(discovery, 'siteward', 'write'), ...foreign(own.takes)],
    }),
    ...clients.map((client) => clientBlock(root, client, discovery)),
  ];
  return `${blocks.join('\n\n')}\n`;
}

const ownUser = 'siteward';

function clientBlock(root: string, { id, role, panels }: AclClient, discovery: string | undefined): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id) || id === ownUser) {
    throw new TypeError('a client id is 1 to 64 letters, digits, _ or -, and not "siteward"');
  }
  if (!roles.includes(role) || role === 'siteward') throw new TypeError('not the role of a client');
  // A denial comes before every right in mosquitto.
  if (role === 'bridge' && panels === undefined) {
    const denied = ['siteward/#', ...announcements(discovery)].map((filter) => `topic deny ${filter}`);
    return [`user ${id}`, ...denied, 'topic readwrite #'].join('\n');
  }
  return block(id, {
    read: [
      ...filtersOf(root, role, id, 'read'),
      ...discoveryFilters(discovery, role, 'read'),
      ...foreign(role === 'bridge' ? panels?.takes : undefined),
    ],
    write: [
      ...filtersOf(root, role, id, 'write'),
      ...discoveryFilters(discovery, role, 'write'),
      ...foreign(role === 'bridge' ? panels?.tells : undefined),
    ],
  });
}

function block(user: string, { read, write }: { read: readonly string[]; write: readonly string[] }): string {
  const lines = [...read.map((filter) => `topic read ${filter}`), ...write.map((filter) => `topic write ${filter}`)];
  return [`user ${user}`, ...new Set(lines)].join('\n');
}

/** A panel's filters must leave siteward's topics alone, wildcards included. */
function foreign(filters: readonly string[] = []): readonly string[] {
  for (const filter of filters) {
    if (/[\r\n]/.test(filter) || overlaps(filter, 'siteward/#')) {
      throw new TypeError("a bridge's filter must not reach siteward's topics");
    }
  }
  return filters;
}
