/**
 * A certificate authority for the sites of inspected tunnels. @peculiar/asn1-x509 encodes X.509 (RFC 5280); Node makes keys and
 * signatures. All leaves of a process share one key, so a site costs a signature and a context of OpenSSL: 2 ms, once a day.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { Recent } from '@decorum/politeness/admission'
import { DAY, HOUR, type Instant, systemClock } from '@decorum/protocol'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_nameConstraints,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  NameConstraints,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509'

const ECDSA_SHA256 = '1.2.840.10045.4.3.2'
const COMMON_NAME = '2.5.4.3'
/** Validity before now, for clients whose clock is behind. */
const BEFORE_MS = HOUR
const LEAF_MS = DAY
/** A leaf is renewed when it has no more than this time left. */
const LEAF_LEAST_MS = 6 * HOUR
const MOST_LEAVES = 5_000

/** Certificate and key files of an authority, in its folder. */
export const CA_FILES = ['ca.pem', 'ca-key.pem'] as const

/** PEM: certificate and private key (PKCS #8). */
export type AuthorityPem = { certificate: string; key: string }

/** @param hosts  hosts that the authority may sign for, with all names below them; empty: all hosts */
export function makeAuthority({
  hosts,
  days,
  now = systemClock.machine(),
}: {
  hosts: readonly string[]
  days: number
  now?: Instant
}): AuthorityPem {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = nameOf(`Decorum proxy ${randomBytes(4).toString('hex')}`)
  const extensions = [
    extension(id_ce_basicConstraints, new BasicConstraints({ cA: true, pathLenConstraint: 0 }), true),
    extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign), true),
    extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(keyId(publicKey)), false),
  ]
  if (hosts.length > 0) extensions.push(extension(id_ce_nameConstraints, constrainedTo(hosts), true))
  const certificate = signed({ subject: name, issuer: name, publicKey, extensions, now, ms: days * DAY }, privateKey)
  return { certificate: pemOf(certificate), key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string }
}

export type Authority = {
  /** PEM, for clients that should trust it */
  certificate: string
  /** the certificate that a server for this host presents */
  contextFor(host: string): SecureContext
}

/** @throws Error with a message for people when key and certificate do not match, or the certificate has expired */
export function openAuthority({ certificate, key }: AuthorityPem): Authority {
  const own = new X509Certificate(certificate)
  const signingKey = createPrivateKey(key)
  if (!own.checkPrivateKey(signingKey)) throw new Error('the key does not belong to the certificate')
  if (own.validToDate.getTime() <= systemClock.machine())
    throw new Error(`the certificate was valid until ${own.validTo}`)
  const issuer = AsnConvert.parse(own.raw, Certificate).tbsCertificate.subject
  const issuerId = keyId(createPublicKey(signingKey))
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const leafKey = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const known = new Recent<string, { context: SecureContext; until: Instant }>(MOST_LEAVES)
  return {
    certificate,
    contextFor(host) {
      const now = systemClock.machine()
      const found = known.get(host)
      if (found !== undefined && found.until - now > LEAF_LEAST_MS) return found.context
      const extensions = [
        extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature), true),
        extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth]), false),
        extension(id_ce_subjectAltName, new SubjectAlternativeName([generalNameOf(host)]), true),
        extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(keyId(publicKey)), false),
        extension(
          id_ce_authorityKeyIdentifier,
          new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(issuerId) }),
          false,
        ),
      ]
      const leaf = signed({ subject: new Name(), issuer, publicKey, extensions, now, ms: LEAF_MS }, signingKey)
      const context = createSecureContext({ cert: pemOf(leaf) + certificate, key: leafKey })
      known.set(host, { context, until: now + LEAF_MS })
      return context
    },
  }
}

type ToSign = { subject: Name; issuer: Name; publicKey: KeyObject; extensions: Extension[]; now: Instant; ms: number }

function signed({ subject, issuer, publicKey, extensions, now, ms }: ToSign, key: KeyObject): ArrayBuffer {
  const algorithm = new AlgorithmIdentifier({ algorithm: ECDSA_SHA256 })
  const serial = randomBytes(16)
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40 // a positive number of full length
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: bufferOf(serial),
    signature: algorithm,
    issuer,
    validity: new Validity({ notBefore: new Date(now - BEFORE_MS), notAfter: new Date(now + ms) }),
    subject,
    subjectPublicKeyInfo: AsnConvert.parse(publicKey.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo),
    extensions: new Extensions(extensions),
  })
  const signatureValue = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), key)
  return AsnConvert.serialize(
    new Certificate({ tbsCertificate, signatureAlgorithm: algorithm, signatureValue: bufferOf(signatureValue) }),
  )
}

const extension = (extnID: string, value: object, critical: boolean): Extension =>
  new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) })

const nameOf = (commonName: string): Name =>
  new Name([
    new RelativeDistinguishedName([
      new AttributeTypeAndValue({ type: COMMON_NAME, value: new AttributeValue({ utf8String: commonName }) }),
    ]),
  ])

/** @param host  as in a URL; an IPv6 literal may have its brackets */
function generalNameOf(host: string): GeneralName {
  const bare = host.replace(/^\[|\]$/g, '')
  return isIP(bare) === 0 ? new GeneralName({ dNSName: bare }) : new GeneralName({ iPAddress: bare })
}

/** A name without a leading dot includes itself and all names below it (RFC 5280 §4.2.1.10). */
const constrainedTo = (hosts: readonly string[]): NameConstraints =>
  new NameConstraints({
    permittedSubtrees: new GeneralSubtrees(
      hosts.map((host) => new GeneralSubtree({ base: new GeneralName({ dNSName: host }) })),
    ),
  })

/** The method of RFC 5280 §4.2.1.2, with SHA-256 instead of SHA-1. */
const keyId = (key: KeyObject): ArrayBuffer =>
  bufferOf(
    createHash('sha256')
      .update(key.export({ type: 'spki', format: 'der' }))
      .digest()
      .subarray(0, 20),
  )

const bufferOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

const pemOf = (der: ArrayBuffer): string => {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
