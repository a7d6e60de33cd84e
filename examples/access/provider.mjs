// An OpenID provider on this machine, for a try: one client, "desk", which gets tokens for
// itself. In its place there will be your own: Keycloak, Auth0, Entra ID, Google, Okta.
//
//   node provider.mjs PORT
import { Provider } from "oidc-provider";

const port = Number(process.argv[2] ?? 9300);
const issuer = `http://127.0.0.1:${port}`;

const provider = new Provider(issuer, {
	clients: [
		{
			client_id: "desk",
			client_secret: "desk-secret",
			grant_types: ["client_credentials"],
			redirect_uris: [],
			response_types: [],
		},
	],
	scopes: ["chat", "inspect"],
	features: {
		clientCredentials: { enabled: true },
		devInteractions: { enabled: false },
		resourceIndicators: {
			enabled: true,
			defaultResource: () => "urn:sluice",
			// What the gateway looks at: a signed token that is meant for it.
			getResourceServerInfo: () => ({
				scope: "chat inspect",
				audience: "sluice",
				accessTokenFormat: "jwt",
				accessTokenTTL: 600,
				jwt: { sign: { alg: "RS256" } },
			}),
		},
	},
});
provider.listen(port, "127.0.0.1", () => console.log(`issuer ${issuer}`));
