import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The programs the tests run for real, and the Debian package each comes from. */
const programs: Readonly<Record<string, string>> = {
  mosquitto: 'mosquitto',
  mosquitto_pub: 'mosquitto-clients',
  ffmpeg: 'ffmpeg',
  ffprobe: 'ffmpeg',
  chromium: 'chromium',
  'espeak-ng': 'espeak-ng',
  sox: 'sox',
  age: 'age',
  curl: 'curl',
  jq: 'jq',
  faketime: 'faketime',
  strace: 'strace',
  socat: 'socat',
  zsh: 'zsh',
  xfs_io: 'xfsprogs',
  'mkfs.ext4': 'e2fsprogs',
  'systemd-notify': 'systemd',
  aplay: 'alsa-utils',
  pulseaudio: 'pulseaudio',
  paplay: 'pulseaudio-utils',
};

/** What is no program: GStreamer's RTSP server, its Python binding, and the elements of the test streams. */
const libraries = [
  'python3-gi',
  'gir1.2-gst-rtsp-server-1.0',
  ...['base', 'good', 'bad', 'ugly'].map((name) => `gstreamer1.0-plugins-${name}`),
];

/**
 * Makes sure of the Debian packages the tests need: installs them as root or with passwordless sudo, otherwise
 * names what is missing. Returns an error text, or undefined when all is there.
 */
export function ensurePackages(): string | undefined {
  const missing = missingPackages();
  if (missing.length === 0) return undefined;
  const advice = `Install them: apt-get install ${missing.join(' ')}`;
  const prefix = privilege();
  if (prefix === undefined) return `These Debian packages are missing: ${missing.join(', ')}. ${advice}`;
  console.log(`installing Debian packages: ${missing.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const run = (args: readonly string[]) => {
    const [command = '', ...rest] = [...prefix, ...args];
    return spawnSync(command, rest, { env, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
  };
  run(['apt-get', 'update', '-qq']);
  run(['apt-get', 'install', '-y', '-qq', '--no-install-recommends', ...missing]);
  const still = missingPackages();
  return still.length === 0
    ? undefined
    : `These Debian packages could not be installed: ${still.join(', ')}. ${advice}`;
}

function missingPackages(): string[] {
  const ofPrograms = Object.entries(programs).flatMap(([program, name]) => (isThere(program) ? [] : [name]));
  const query = ['-W', '-f', `\${Package} \${db:Status-Status}\n`, ...libraries];
  const installed = spawnSync('dpkg-query', query, { encoding: 'utf8' }).stdout?.split('\n') ?? [];
  return [...new Set([...ofPrograms, ...libraries.filter((name) => !installed.includes(`${name} installed`))])];
}

function isThere(program: string): boolean {
  const places = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return places.some((place) => {
    try {
      accessSync(join(place, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** The words to put before a command that needs root; undefined when there is no way without asking. */
function privilege(): readonly string[] | undefined {
  if (process.getuid?.() === 0) return [];
  return spawnSync('sudo', ['-n', 'true'], { stdio: 'ignore' }).status === 0 ? ['sudo', '-n'] : undefined;
}
