import type { Part } from '#lib/health.ts';
import type { Secret } from '#lib/secret.ts';
import type { From } from './audit.ts';
import type { ShownPerson } from './book.ts';
import type { Credentials } from './headers.ts';
import type { ShownKey } from './keys.ts';
import type { Caller, Role } from './permissions.ts';
import type { NewKey, NewPerson, Unfit } from './rules.ts';
import type { Session } from './sessions.ts';

/** A caller and where it calls from. */
export interface By {
  readonly caller: Caller;
  readonly from: From;
}

/** A session that was opened. The token goes into the cookie and nowhere else. */
export interface Opened {
  readonly token: Secret;
  readonly caller: Extract<Caller, { kind: 'person' }>;
}

export interface Claim {
  readonly code: string;
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly password: string;
  /** Of the network, or `local`. */
  readonly address: string;
}

export interface Login {
  readonly id: string;
  readonly password: string;
  /** Of the network, or `local`. */
  readonly address: string;
  /** Token of a session that the new one takes the place of. */
  readonly replaces?: string | undefined;
}

export interface OwnPassword {
  readonly current: string;
  readonly next: string;
}

/**
 * Who may do what over the network, for whatever listener asks. `caller` and `permit` are to be asked for every request,
 * behind the guards. Where somebody is not let in it throws `access_needed` or `access_denied`; `access_wait` and
 * `access_busy` carry `retryAfterMs` in their facts; `access_unusable` while the file cannot be used, which opens nothing.
 */
export interface Access extends Part {
  /** What everybody may know. */
  shown(): 'unclaimed' | 'claimed' | 'unusable';
  /** Counts as a use of the session or key. What does not count makes its caller nobody, whatever the reason. */
  caller(credentials: Credentials): Caller;
  /** Throws unless this caller may do this operation. */
  permit(caller: Caller, operation: string): void;
  /** Whether somebody with an open stream may still listen; no use of the session. */
  mayStay(caller: Caller, operation: string): boolean;

  /** The first account, by the claim code. Throws `access_refused`. */
  claim(claim: Claim, signal: AbortSignal): Promise<Opened>;
  login(login: Login, signal: AbortSignal): Promise<Opened>;
  logout(by: By): void;
  /** All other sessions of the account end, and this one gets another token. Throws `access_refused`. */
  setOwnPassword(by: By, password: OwnPassword, signal: AbortSignal): Promise<Opened>;

  /** Since when the site is its owner's; undefined before. */
  handedOver(): string | undefined;
  people(): readonly (ShownPerson & { readonly now: 'valid' | 'password not changed yet' | Unfit })[];
  /** The password is one that whoever adds knows; the account may nothing until it has another. */
  addPerson(by: By, person: NewPerson & { readonly password: string }, signal: AbortSignal): Promise<ShownPerson>;
  /** Another end; none takes the limit away, or the consent from an installer. */
  limitPerson(by: By, id: string, validUntil: string | undefined): Promise<void>;
  removePerson(by: By, id: string): Promise<void>;

  keys(): readonly (ShownKey & { readonly now: 'valid' | Unfit })[];
  /** The key is shown this once. */
  addKey(by: By, key: NewKey): Promise<{ readonly key: ShownKey; readonly token: Secret }>;
  removeKey(by: By, id: string): Promise<void>;

  /** Of one account, or all. */
  sessions(person?: string): readonly Session[];
  /** One of the caller's own; `anybodys`: an owner's, or the control socket's, right. Throws `access_unknown`. */
  endSession(by: By, id: string, anybodys?: boolean): void;

  /** For the command line alone, never for a log; undefined once the bridge is claimed. */
  claimCode(): Secret | undefined;
  /** All accounts, keys and sessions are gone; the configuration stays. Gives the new claim code. For the command line alone. */
  reset(): Promise<Secret>;
}
