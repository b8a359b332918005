/** What an account may be. `owner` adds, limits and removes people, users and their codes; an installer never gets at codes. */
export const roles = ['owner', 'operator', 'viewer', 'installer'] as const;
export type Role = (typeof roles)[number];

/** What an API key may be given. Nothing of people, users, keys or sessions is among it. */
export const scopes = [
  'state',
  'events',
  'metrics',
  'media',
  'outbox',
  'commands',
  'verifications',
  'verifications:answer',
  'verifications:ask',
  'audio',
  'audio:play',
  'cameras',
] as const;
export type Scope = (typeof scopes)[number];

export type Permission =
  /** Without credentials: it tells nothing, or is the way in. */
  | 'open'
  /** On the control socket alone. */
  | 'local'
  | {
      readonly roles: readonly Role[];
      readonly scope?: Scope;
      /** Also for whoever has yet to change the password that somebody else gave. */
      readonly always?: true;
    };

const all = roles;
const staff = ['owner', 'operator', 'installer'] as const;
const keepers = ['owner', 'operator'] as const;
const technical = ['owner', 'installer'] as const;
const owners = ['owner'] as const;

/** Who may do what. An operation that is not here is refused to everybody. */
export const permissions = {
  getHealth: 'open',
  getReady: 'open',
  getStatus: { roles: all, scope: 'state' },
  listZones: { roles: all, scope: 'state' },
  listSchedules: { roles: all, scope: 'state' },
  listCameras: { roles: all, scope: 'state' },
  listSpeakers: { roles: all, scope: 'state' },
  listEvents: { roles: all, scope: 'events' },
  getMetrics: { roles: staff, scope: 'metrics' },

  getOutbox: { roles: staff, scope: 'outbox' },
  listWaiting: { roles: staff, scope: 'outbox' },
  listParked: { roles: staff, scope: 'outbox' },
  getParked: { roles: staff, scope: 'outbox' },
  listGaps: { roles: staff, scope: 'outbox' },
  retryParked: { roles: staff },
  // What is dropped is never told to the cloud: nobody who only works here decides that.
  dropParked: { roles: owners },

  // What takes a code takes it all the same: the account says who may ask, the code who may disarm.
  giveCommand: { roles: keepers, scope: 'commands' },
  postponeSchedule: { roles: keepers, scope: 'commands' },

  listVerifications: { roles: keepers, scope: 'verifications' },
  getVerification: { roles: keepers, scope: 'verifications' },
  answerVerificationLocally: { roles: keepers, scope: 'verifications:answer' },
  // The service asks, by a key of its own.
  addVerification: { roles: owners, scope: 'verifications:ask' },

  listMedia: { roles: ['owner', 'operator', 'viewer'], scope: 'media' },
  getMedia: { roles: ['owner', 'operator', 'viewer'], scope: 'media' },
  exportMedia: { roles: keepers, scope: 'media' },
  readMedia: { roles: keepers, scope: 'media' },

  cameraEvents: { roles: staff },
  cameraSnapshot: { roles: staff, scope: 'cameras' },
  cameraCertificate: { roles: technical },
  trustCamera: { roles: technical },

  listMessages: { roles: all, scope: 'audio' },
  listPlaybacks: { roles: all, scope: 'audio' },
  getPlayback: { roles: all, scope: 'audio' },
  playMessage: { roles: staff, scope: 'audio:play' },
  cancelPlaybacks: { roles: staff, scope: 'audio:play' },
  importMessage: { roles: technical },
  removeMessage: { roles: technical },

  listUsers: { roles: owners },
  addUser: { roles: owners },
  setUserCode: { roles: owners },
  removeUser: { roles: owners },

  openAudit: 'local',
  listAudit: 'local',
  verifyAudit: 'local',
  exportAudit: 'local',
  exportedAudit: 'local',
  listInputs: 'local',
  getCloudActivity: 'local',
  setSecurityType: 'local',

  // This room's own.
  claim: 'open',
  login: 'open',
  logout: { roles: all, always: true },
  getSelf: { roles: all, always: true },
  setOwnPassword: { roles: all, always: true },
  listOwnSessions: { roles: all },
  endOwnSession: { roles: all },
  listSessions: { roles: owners },
  endSession: { roles: owners },
  listPeople: { roles: technical },
  addPerson: { roles: technical },
  limitPerson: { roles: owners },
  removePerson: { roles: technical },
  listKeys: { roles: technical },
  addKey: { roles: technical },
  removeKey: { roles: technical },
  showClaimCode: 'local',
  resetAccess: 'local',
} as const satisfies Readonly<Record<string, Permission>>;

export type PermittedOperation = keyof typeof permissions;

/** Who asks, as far as it was shown. */
export type Caller =
  /** Whoever may open the control socket. */
  | { readonly kind: 'local' }
  | { readonly kind: 'nobody' }
  | {
      readonly kind: 'person';
      readonly id: string;
      readonly role: Role;
      /** Shown name of the session, not its token. */
      readonly session: string;
      /** The password is the one that somebody else gave. */
      readonly mustChange: boolean;
    }
  | {
      readonly kind: 'key';
      readonly id: string;
      readonly scopes: readonly Scope[];
      /** Role of whoever made it: a key may no more than its maker. */
      readonly role: Role;
    };

/** `login`: it takes an account or a key. */
export type Denial = 'login' | 'role' | 'scope' | 'password' | 'local' | 'unknown';

/** Why this caller may not; undefined when it may. */
export function denial(caller: Caller, operation: string): Denial | undefined {
  const permission = permissionOf(operation);
  if (permission === undefined) return 'unknown';
  if (permission === 'open' || caller.kind === 'local') return undefined;
  if (permission === 'local') return 'local';
  if (caller.kind === 'nobody') return 'login';
  if (!permission.roles.includes(caller.role)) return 'role';
  if (caller.kind === 'person') return caller.mustChange && permission.always !== true ? 'password' : undefined;
  const { scope } = permission;
  return scope !== undefined && caller.scopes.includes(scope) ? undefined : 'scope';
}

function permissionOf(operation: string): Permission | undefined {
  return Object.hasOwn(permissions, operation) ? permissions[operation as PermittedOperation] : undefined;
}
