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
  'dispatch',
  'audit',
] as const;
export type Scope = (typeof scopes)[number];

export type Permission =
  /** Without credentials: it tells nothing, or is the way in. */
  | 'open'
  /** On the control socket alone. */
  | 'local'
  | {
      readonly roles: readonly Role[];
      /** `any`: every key may, whatever its scopes. */
      readonly scope?: Scope | 'any';
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
  getIdentity: 'open',
  getAuthority: 'open',
  // It tells what is the same in every copy of siteward.
  getOpenApi: 'open',
  getStatus: { roles: all, scope: 'state' },
  listZones: { roles: all, scope: 'state' },
  listPartitions: { roles: all, scope: 'state' },
  getPartition: { roles: all, scope: 'state' },
  listDevices: { roles: all, scope: 'state' },
  listSchedules: { roles: all, scope: 'state' },
  listCameras: { roles: all, scope: 'state' },
  listSpeakers: { roles: all, scope: 'state' },
  listEvents: { roles: all, scope: 'events' },
  // Topics that the caller may not see are left out.
  streamEvents: { roles: all, scope: 'events' },
  getMetrics: { roles: staff, scope: 'metrics' },
  getSiteMirror: { roles: staff, scope: 'state' },
  // Names and numbers of people: for who has to call them, and for no key.
  listContacts: { roles: staff },

  getOutbox: { roles: staff, scope: 'outbox' },
  getOutboxHistory: { roles: staff, scope: 'outbox' },
  listWaiting: { roles: staff, scope: 'outbox' },
  listParked: { roles: staff, scope: 'outbox' },
  getParked: { roles: staff, scope: 'outbox' },
  listGaps: { roles: staff, scope: 'outbox' },
  retryParked: { roles: staff },
  // What is dropped is never told to the cloud: nobody who only works here decides that.
  dropParked: { roles: owners },

  // What takes a code takes it all the same: the account says who may ask, the code who may disarm.
  giveCommand: { roles: keepers, scope: 'commands' },
  // Who mends a detector walks it; beginning takes the code of a person who may, wherever a disarm takes one.
  giveTestCommand: { roles: staff, scope: 'commands' },
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

  // For who mends the bridge; what is logged in full may name who came and went.
  getLog: { roles: technical },
  getLogLevels: { roles: technical },
  setLogLevels: { roles: technical },
  getConfig: { roles: technical },
  checkConfig: { roles: technical },
  changeConfig: { roles: technical },
  discoverCameras: { roles: technical },
  inspectCamera: { roles: technical },
  listCloudDevices: { roles: technical },
  getDevicePlan: { roles: technical },
  syncDevices: { roles: technical },
  restart: { roles: technical },
  forgetCloud: { roles: technical },
  factoryReset: { roles: owners },
  listBundleContents: { roles: technical },
  makeSupportBundle: { roles: technical },
  // The cloud's own paths.
  listAudioMessages: { roles: all, scope: 'audio' },
  playAudioMessage: { roles: staff, scope: 'audio:play' },
  listReferencedAudioMessages: { roles: all, scope: 'audio' },
  playReferencedAudioMessage: { roles: staff, scope: 'audio:play' },
  armPartition: { roles: keepers, scope: 'commands' },
  disarmPartition: { roles: keepers, scope: 'commands' },
  bypassZones: { roles: keepers, scope: 'commands' },
  readPartition: { roles: all, scope: 'state' },
  captureSnapshot: { roles: staff, scope: 'cameras' },
  getTakenPicture: { roles: staff, scope: 'cameras' },
  dispatchResponder: { roles: keepers, scope: 'dispatch' },
  getAuditLog: { roles: owners, scope: 'audit' },

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
  noteCloudChange: 'local',

  // This room's own.
  claim: 'open',
  login: 'open',
  logout: { roles: all, always: true },
  getSelf: { roles: all, always: true, scope: 'any' },
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
  backupStep: 'local',
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
  if (scope === 'any') return undefined;
  return scope !== undefined && caller.scopes.includes(scope) ? undefined : 'scope';
}

function permissionOf(operation: string): Permission | undefined {
  return Object.hasOwn(permissions, operation) ? permissions[operation as PermittedOperation] : undefined;
}
