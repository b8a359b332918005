export type Status = 'armed' | 'disarmed';

/** What the cloud answers. `writtenAt` and `answeredAt` are by its own clock, and there only where it has timestamps. */
export interface Answer {
  readonly value: Status;
  readonly writtenAt?: number;
  readonly answeredAt?: number;
}

/** The world a policy acts in. */
export interface Site {
  /** The bridge's clock, milliseconds; the monotonic and the wall clock are the same in this model. */
  now(): number;
  random(): number;
  status(): Status;
  /** When the keypad last changed it. */
  keypadAt(): number;
  get(request: number): void;
  put(request: number, status: Status): void;
  /** The policy makes the site follow the cloud. */
  apply(status: Status): void;
  /** The policy tells the operator that this value is not done. */
  show(cloud: Status): void;
}

/** How a bridge keeps site and cloud together. `wakeAt` is when it wants to be woken. */
export interface Policy {
  wakeAt: number;
  wake(): void;
  keypad(): void;
  answered(request: number, answer: Answer): void;
  /** Neither answer nor certainty that the request was not done. */
  lost(request: number): void;
}

export type MakePolicy = (site: Site) => Policy;
