// Package judges compares OpenAI's and Anthropic's own libraries for Go with our codecs: their
// reading of the recordings of ../../../shared/testdata, and their cost. The library of Standard
// Webhooks and an SMTP server judge what leaves by the webhook, a reader of MIME and a sanitizer
// the e-mails, and Google's library of phone numbers the redaction.
package judges
