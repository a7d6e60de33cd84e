// Issuers of tokens that others wrote: oidc-provider, oauth2-mock-server, and a key set whose
// tokens jose signs. They listen on loopback; the first line of output says where. Then each
// line of input is a command, {"do": ...}, and each line of output its answer.
import http from 'node:http'
import { createInterface } from 'node:readline'
import * as jose from 'jose'
import { OAuth2Server } from 'oauth2-mock-server'
import Provider from 'oidc-provider'

const audience = 'sluice'
const listening = server => new Promise(ok => server.listen(0, '127.0.0.1', () => ok(`http://127.0.0.1:${server.address().port}`)))

// signingKey makes a private key in the form of a key set.
async function signingKey(alg, kid) {
  const pair = await jose.generateKeyPair(alg, { extractable: true, ...(alg === 'EdDSA' && { crv: 'Ed25519' }) })
  return { ...await jose.exportJWK(pair.privateKey), alg, kid, use: 'sig' }
}
const publicOf = ({ d, p, q, dp, dq, qi, ...rest }) => rest

// oidc-provider gets its keys when it is made: to rotate them another one takes over.
let provide, algorithm
const oidc = http.createServer((req, res) => provide(req, res))
const oidcURL = await listening(oidc)
let oidcKeys = []
async function rotateProvider({ keep }) {
  const fresh = [await signingKey('RS256', `rs-${Date.now()}`), await signingKey('ES256', `es-${Date.now()}`)]
  oidcKeys = keep ? [...fresh, ...oidcKeys] : fresh
  const provider = new Provider(oidcURL, {
    clients: [{ client_id: 'batch', client_secret: 'not-a-secret', grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }],
    jwks: { keys: oidcKeys },
    scopes: ['chat', 'ops'],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => `urn:${audience}`,
        getResourceServerInfo: (_, resource) => ({
          audience: resource.replace('urn:', ''), scope: 'chat ops', accessTokenTTL: 600, accessTokenFormat: 'jwt', jwt: { sign: { alg: algorithm } },
        }),
      },
    },
  })
  provide = provider.callback()
  return oidcKeys.map(k => k.kid)
}
async function providerToken({ alg, resource, scope }) {
  algorithm = alg
  const reply = await fetch(`${oidcURL}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('batch:not-a-secret')}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...(resource && { resource }), ...(scope && { scope }) }),
  })
  const body = await reply.json()
  if (!body.access_token) throw new Error(JSON.stringify(body))
  return body.access_token
}

const mock = new OAuth2Server()
await mock.start(0, '127.0.0.1')
async function mockToken({ alg, kid, claims }) {
  if (kid && !mock.issuer.keys.get(kid)) await mock.issuer.keys.generate(alg, { kid })
  return mock.issuer.buildToken({ kid, scopesOrTransform: (_, payload) => Object.assign(payload, claims) })
}

// What jose signs is published here, but for what is withheld.
const joseKeys = {}
const published = http.createServer((_, res) => {
  res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=60' })
  res.end(JSON.stringify({ keys: Object.values(joseKeys).filter(k => !k.withheld).map(k => publicOf(k.jwk)) }))
})
const joseURL = await listening(published)
async function joseToken({ alg, kid, header, claims, withheld, secret, none, publicAsSecret }) {
  if (none) return new jose.UnsecuredJWT(claims).encode()
  if (secret) return new jose.SignJWT(claims).setProtectedHeader({ alg, ...header }).sign(new TextEncoder().encode(secret))
  joseKeys[kid] ??= { jwk: await signingKey(alg, kid), withheld }
  const { jwk } = joseKeys[kid]
  if (publicAsSecret) {
    const pem = await jose.exportSPKI(await jose.importJWK(publicOf(jwk), alg))
    return new jose.SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid, ...header }).sign(new TextEncoder().encode(pem))
  }
  const all = { alg, kid, ...header }
  if (all.jwk === true) all.jwk = publicOf(jwk)
  return new jose.SignJWT(claims).setProtectedHeader(all).sign(await jose.importJWK(jwk, alg), { crit: { 'urn:x': true } })
}

await rotateProvider({})
console.log(JSON.stringify({ provider: oidcURL, mock: mock.issuer.url, jose: joseURL }))

const commands = { rotate: rotateProvider, provider: providerToken, mock: mockToken, jose: joseToken }
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line)
  try {
    console.log(JSON.stringify({ result: await commands[command.do](command) }))
  } catch (e) {
    console.log(JSON.stringify({ error: String(e.stack ?? e) }))
  }
}
process.exit()
