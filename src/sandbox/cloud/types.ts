import type { MediaKind } from '#cloud/contract/index.ts';

/** One application registered at the service. A client with several keys is written once per key, same `clientId`. */
export interface CloudClient {
  readonly clientId: string;
  /** SPKI PEM, RSA of at least 2048 bits; opens the assertion grant (S-034, S-043). */
  readonly publicKeyPem?: string;
  readonly kid?: string;
  /** Opens the client credentials grant (S-030). */
  readonly clientSecret?: string;
  /** Whether its tokens may post events; true unless said otherwise (S-166). */
  readonly mayIngest?: boolean;
  /** Dealers its partner tokens reach while they are connected; absent: every connected dealer (S-032). */
  readonly dealers?: readonly number[];
}

/** How strict the assertion check is; seconds. Defaults: ../notes of the interface, S-039. */
export interface AssertionRules {
  /** The one accepted audience: the token server's address, compared as plain text. */
  readonly audience: string;
  /** Allowed clock difference, 0 to 60; default 30. */
  readonly toleranceS: number;
  /** Longest accepted `exp - iat`; default 3600. */
  readonly maxLifetimeS: number;
  /** Whether `aud` may be an array that holds the audience; default true. */
  readonly audArray: boolean;
}

/** One request as it arrived and what became of it. Paths carry neither query nor upload token. */
export interface LogLine {
  readonly at: string;
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** Null when no answer was sent. */
  readonly status: number | null;
  readonly ms: number;
  readonly client?: string;
  readonly traceId?: string;
  readonly fault?: string;
  readonly note?: string;
}

/** One try to deliver an event. */
export interface EventTry {
  readonly at: string;
  readonly sent_at: string;
  /** Whether the body was the first one's again, apart from `sent_at`. */
  readonly identical: boolean;
}

export interface StoredEvent {
  readonly event_id: string;
  readonly client_id: string;
  /** 1 for the first accepted event; gives the order of acceptance. */
  readonly seq: number;
  readonly received_at: string;
  /** When its first try came in, by the clock of the machine, which the control path does not move; before any planted delay. */
  readonly arrived_at: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** How often it arrived in all; `tries` keeps the first and the last 49. */
  readonly try_count: number;
  readonly tries: readonly EventTry[];
  /** Whether every try was identical apart from `sent_at`. */
  readonly identical: boolean;
}

export interface StoredUpload {
  readonly id: string;
  readonly event_id: string;
  readonly client_id: string;
  readonly kind: MediaKind;
  readonly index: number;
  readonly media_type: string;
  readonly bytes: number;
  readonly sha256: string;
  /** An upload must not carry our bearer (S-167); it is taken all the same and remembered. */
  readonly authorization_sent: boolean;
  readonly received_at: string;
  /** How often this address was written; the last content counts. */
  readonly put_count: number;
}
