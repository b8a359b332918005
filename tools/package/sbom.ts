import { createHash } from 'node:crypto';
import type { BundledPackage } from './bundled.ts';

export interface SbomOf {
  readonly version: string;
  readonly arch: string;
  readonly packages: readonly BundledPackage[];
  readonly node: { readonly version: string; readonly sha256: string };
  /** Seconds since 1970. */
  readonly date: number;
}

/** CycloneDX 1.5: what is in the package, no more and no less. The same inputs give the same bytes, the serial number too. */
export function sbom({ version, arch, packages, node, date }: SbomOf): string {
  const purl = (name: string, of: string) => `pkg:npm/${name.replace('@', '%40')}@${of}`;
  const components = [
    {
      type: 'platform',
      'bom-ref': `node@${node.version}`,
      name: 'node',
      version: node.version,
      description: 'The program as shipped, without its symbols; brings V8, OpenSSL, ICU and others of its own.',
      hashes: [{ alg: 'SHA-256', content: node.sha256 }],
      licenses: [{ license: { name: 'Node.js and the licences of its parts' } }],
      purl: `pkg:generic/node@${node.version}?arch=${arch}`,
      cpe: `cpe:2.3:a:nodejs:node.js:${node.version}:*:*:*:*:*:*:*`,
    },
    ...packages.map(({ name, version: of, licence, integrity }) => ({
      type: 'library',
      'bom-ref': `${name}@${of}`,
      name,
      version: of,
      hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex') }],
      licenses: /\s/.test(licence) ? [{ expression: licence }] : [{ license: { id: licence } }],
      purl: purl(name, of),
    })),
  ];
  const own = {
    type: 'application',
    'bom-ref': `siteward@${version}`,
    name: 'siteward',
    version,
    licenses: [{ license: { id: 'Apache-2.0' } }],
    purl: `pkg:deb/siteward@${version}?arch=${arch}`,
  };
  const body = {
    metadata: { timestamp: new Date(date * 1000).toISOString().replace('.000Z', 'Z'), component: own },
    components,
    dependencies: [{ ref: own['bom-ref'], dependsOn: components.map((one) => one['bom-ref']) }],
  };
  const digest = createHash('sha256').update(JSON.stringify(body)).digest('hex');
  // A random UUID by its form, made of the contents.
  const uuid = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-4${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
  const document = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuid}`,
    version: 1,
    ...body,
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
