import type { Logger } from 'pino';
import { SitewardError } from '#errors.ts';
import type { MemoryPort } from './camera.ts';
import { firstReadMs, patiently } from './patient-memory.ts';

/** A certificate as it was shown, before anything was sent over its connection. */
export interface ShownCertificate {
  /** SHA-256, hex with colons. */
  readonly fingerprint: string;
  /** A CA the system trusts vouches for it, and for this name or address. */
  readonly vouched: boolean;
}

/**
 * Whether a camera's certificate is the right one: the configured fingerprint wins; else one that a CA vouches for is
 * good; else the first that was seen is remembered and no other accepted, until a person says so.
 */
export interface CertificatePin {
  /** Throws `camera_certificate` when it must not be talked to. `silent`: nobody is told of it otherwise (safety 4). */
  judge(shown: ShownCertificate, host: string, silent?: boolean): Promise<void>;
  /**
   * Accepts the certificate of this fingerprint, if it is the one that was refused last, or counts already: a person has
   * compared it. Throws `camera_certificate` otherwise, when the configuration names one, and when none was seen yet.
   */
  trust(fingerprint: string): Promise<void>;
  /** The one that counts, where one is remembered or configured. */
  trusted(): Promise<string | undefined>;
  /** The certificate that was refused last; undefined when the present one is good. */
  readonly refused: string | undefined;
}

/**
 * @param options.memory Without it the first certificate is remembered in this process only.
 * @param options.beside Of the device itself: this pin is then for its stream, and for pictures at another port. What counts
 *   for the device is good there too; with `configured` no other is believed at first use.
 */
export function certificatePin(options: {
  configured?: string | undefined;
  beside?: CertificatePin;
  id?: string;
  memory?: MemoryPort;
  log?: Logger;
}): CertificatePin {
  const { id = '', beside } = options;
  const isStrict = options.configured !== undefined;
  const configured = beside === undefined ? options.configured?.toUpperCase() : undefined;
  const key = `onvif/${beside === undefined ? 'pin' : 'pin-stream'}/${id}`;
  const shows = beside === undefined ? 'shows' : 'shows at its stream or pictures';
  let pinned: string | undefined;
  /** What the memory holds; undefined while that is not known, and then nothing is written over it. */
  let kept: { readonly value: string | undefined } | undefined;
  let reading: Promise<void> | undefined;
  let refused: string | undefined;

  /** Until it works; what earlier runs remembered wins over what was believed without it. */
  function read(): Promise<void> {
    if (kept !== undefined) return Promise.resolve();
    reading ??= attempt('read', (memory) => memory.get(key), pinned === undefined ? { ms: firstReadMs } : {}).then(
      (found) => {
        reading = undefined;
        if (found === undefined || kept !== undefined) return;
        kept = found;
        if (found.value !== undefined && /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/.test(found.value)) pinned = found.value;
      },
    );
    return reading;
  }

  async function keep(): Promise<void> {
    const value = pinned;
    if (value === undefined || kept === undefined || kept.value === value) return;
    if ((await attempt('write', (memory) => memory.set(key, value))) !== undefined) kept = { value };
  }

  /**
   * Undefined when it failed. A store that is gone must not keep a camera from being watched: then the pin lives in this
   * process alone.
   */
  async function attempt<T>(
    what: string,
    work: (memory: MemoryPort) => Promise<T>,
    first: { readonly ms?: number } = {},
  ): Promise<{ readonly value: T | undefined } | undefined> {
    const { memory } = options;
    if (memory === undefined) return { value: undefined };
    const failed = (err: unknown) => options.log?.warn({ err }, `could not ${what} the remembered certificate`);
    return patiently(() => work(memory), { ...first, failed });
  }

  function refuse(shown: string, host: string, silent: boolean): never {
    if (!silent) {
      if (refused !== shown) options.log?.warn({ host, shown }, 'another certificate than the one that counts');
      refused = shown;
    }
    const text =
      configured === undefined
        ? `than before. If it was changed on purpose, accept it with \`siteward camera trust ${id}\``
        : `than the configured tls_fingerprint. If it was changed on purpose, write it there with \`siteward camera trust ${id} --reload\``;
    throw new SitewardError(
      'camera_certificate',
      `The camera at ${host} ${shows} another certificate ${text}; it shows ${shown}`,
      { facts: { host, seen: shown } },
    );
  }

  return {
    async judge({ fingerprint, vouched }, host, silent = false) {
      const shown = fingerprint.toUpperCase();
      if (configured !== undefined) {
        if (shown !== configured) refuse(shown, host, silent);
      } else if ((!vouched || isStrict) && shown !== (await beside?.trusted())) {
        await read();
        if (!isStrict) pinned ??= shown;
        if (pinned !== shown) refuse(shown, host, silent);
        await keep();
      }
      if (!silent) refused = undefined;
    },
    async trust(fingerprint) {
      if (configured !== undefined) {
        throw new SitewardError(
          'camera_certificate',
          `The configuration names the certificate of this camera: change its tls_fingerprint there, with \`siteward camera trust ${id} --reload\`, or by hand and a reload`,
        );
      }
      await read();
      const shown = refused ?? pinned;
      if (shown === undefined) {
        throw new SitewardError('camera_certificate', 'No certificate of this camera was refused or remembered');
      }
      // Who shows it by now may be another than the one it was compared with.
      if (shown !== fingerprint.toUpperCase()) {
        throw new SitewardError(
          'camera_certificate',
          `The camera shows ${shown}, not ${fingerprint}; compare it again`,
        );
      }
      pinned = shown;
      refused = undefined;
      // A person decided, whatever is remembered.
      kept ??= { value: undefined };
      await keep();
    },
    async trusted() {
      if (configured !== undefined) return configured;
      await read();
      return pinned;
    },
    get refused() {
      return refused;
    },
  };
}
