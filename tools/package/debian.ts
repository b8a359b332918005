import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** `0.1.0-dev` comes before `0.1.0`, which Debian writes with a tilde. */
export const debianVersion = (version: string): string => version.replace('-', '~');

export interface ControlOf {
  readonly version: string;
  readonly arch: string;
  readonly kib: number;
}

/**
 * libc and libstdc++ as Node and the database module need them. openssl signs the certificates of the site; ffmpeg makes clips and
 * pictures of streams. mosquitto takes the port of the broker that is built in, so apt must not bring it by itself (docs/mqtt.md).
 */
export const control = ({ version, arch, kib }: ControlOf): string => `Package: siteward
Version: ${debianVersion(version)}
Architecture: ${arch}
Maintainer: ${maintainer}
Installed-Size: ${kib}
Depends: libc6 (>= 2.34), libgcc-s1, libstdc++6 (>= 12), openssl, systemd (>= 252)
Recommends: ffmpeg
Suggests: alsa-utils, mosquitto, mosquitto-clients, pulseaudio-utils
Section: net
Priority: optional
Description: offline-first controller of a security site
 siteward watches alarm panels, cameras and speakers of one site, arms and
 disarms it, and delivers every event to a cloud service, in order and even
 after days without a line. Local protection waits for no network.
 .
 The package brings the Node.js runtime it is tested with.
`;

const maintainer = 'The siteward authors <siteward@packages.invalid>';

/** The version and its date; what changed for installers stands beside it. */
export const changelog = ({ version, date }: { version: string; date: number }): string =>
  `siteward (${debianVersion(version)}) stable; urgency=medium\n\n  * See NEWS.gz, the changelog for installers.\n\n -- ${maintainer}  ${rfc2822(date)}\n`;

const rfc2822 = (date: number): string => new Date(date * 1000).toUTCString().replace('GMT', '+0000');

/** dpkg needs more while it works than what is there in the end. */
const spareKib = 16 * 1024;

export function maintainerScripts({
  version,
  kib,
}: {
  version: string;
  kib: number;
}): Readonly<Record<string, string>> {
  const script = (name: string) =>
    readFileSync(join(import.meta.dirname, 'debian', name), 'utf8')
      .replaceAll('@VERSION@', debianVersion(version))
      .replaceAll('@KILOBYTES@', String(kib + spareKib));
  return Object.fromEntries(['preinst', 'postinst', 'prerm', 'postrm'].map((name) => [name, script(name)]));
}
