// Package judges sets OpenAI's and Anthropic's own libraries for Go next to our codecs: what
// they read in the recordings of ../../../shared/testdata, and what it costs them. The library
// of Standard Webhooks and an SMTP server judge what leaves by the webhook, a reader of MIME and a
// sanitizer the e-mails, and Google's library of phone numbers the redaction.
package judges
