import type { ArmingWord, TroubleKind, ZoneType } from '#site/model/index.ts';

/** One message as it came from the broker. */
export interface Message {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly retain: boolean;
  /** It may have waited in the broker while nobody listened. */
  readonly waited?: boolean;
}

export type Fault = 'arm_failed' | 'wrong_code' | 'code_missing' | 'lockout' | 'not_allowed' | 'other';

/**
 * What a message says, in the panel's own keys. `replay`: knowledge about the present, no edge. `context`: a record of
 * the past, for people. The key of a report is the zone it names, or nothing.
 */
export type Reading = { readonly replay: boolean; readonly context: boolean } & (
  | {
      readonly kind: 'partition';
      readonly key: string;
      readonly state?: ArmingWord;
      readonly target?: ArmingWord;
      readonly ready?: boolean;
      readonly memory?: boolean;
      readonly fire?: boolean;
      readonly fault?: Fault;
      readonly user?: string;
    }
  | {
      readonly kind: 'zone';
      readonly key: string;
      readonly open?: boolean;
      readonly alarm?: boolean;
      readonly tamper?: boolean;
      readonly bypassed?: boolean;
      readonly lowBattery?: boolean;
      readonly online?: boolean;
      readonly zoneType?: ZoneType;
    }
  | { readonly kind: 'trouble'; readonly trouble: TroubleKind; readonly active: boolean }
  | { readonly kind: 'link'; readonly layer: 'bridge' | 'device'; readonly up: boolean; readonly status: string }
  | { readonly kind: 'keypad'; readonly key: string; readonly action: string }
  | { readonly kind: 'output'; readonly key: string; readonly on: boolean }
  | { readonly kind: 'report'; readonly key: string; readonly contactId?: string; readonly sia?: string }
);

type Loose<T> = { -readonly [K in keyof T]: T[K] };
export type ZoneReading = Loose<Extract<Reading, { kind: 'zone' }>>;

/** What could not be read, for counters and hints. Never holds more of a payload than `showable` lets through. */
export type Note =
  | {
      readonly kind: 'dropped';
      readonly reason: 'too_large' | 'not_utf8' | 'bad_json';
      readonly topic: string;
      /** The bridge's key of the zone, where the topic names one. */
      readonly zone?: string;
    }
  | {
      readonly kind: 'unmapped';
      readonly rule: string;
      readonly field: string;
      readonly value: string;
      readonly zone?: string;
    }
  /** A live empty message: the bridge takes back what it said of a zone. */
  | { readonly kind: 'cleared'; readonly key: string }
  | { readonly kind: 'ignored' | 'unmatched' };
