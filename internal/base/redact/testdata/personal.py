"""Writes personal.txt, the labelled set: pip install faker==40.54.0"""
import random
import uuid

from faker import Faker

LOCALES = {
    "en_US": ["Call me at {}.", "My number is {}, thanks", "Contact: {}"],
    "en_GB": ["Ring {} after six.", "Reach us on {}", "Details: {} (office)"],
    "de_DE": ["Meine Nummer ist {}.", "Bitte {} anrufen", "Kontakt: {}"],
    "fr_FR": ["Mon numéro est le {}.", "Joignez-nous au {}", "Contact : {}"],
    "es_ES": ["Mi número es {}.", "Llame al {}", "Contacto: {}"],
    "it_IT": ["Il mio numero è {}.", "Chiami il {}", "Contatto: {}"],
    "pl_PL": ["Mój numer to {}.", "Proszę dzwonić: {}", "Kontakt: {}"],
    "pt_BR": ["Meu número é {}.", "Ligue para {}", "Contato: {}"],
    "ja_JP": ["番号は {} です", "{} までお電話ください", "連絡先: {}"],
    "hi_IN": ["मेरा नंबर {} है।", "{} पर कॉल करें", "संपर्क: {}"],
}
KEYS = ["sk-proj-{}", "ghp_{}", "xoxb-{}", "AKIA{}", "glpat-{}", "hf_{}"]
ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

random.seed(15)
Faker.seed(15)
rows = []


def key():
    form = random.choice(KEYS)
    if form.startswith("AKIA"):
        return form.format("".join(random.choice(ALNUM[:26] + ALNUM[52:]) for _ in range(16)))
    return form.format("".join(random.choice(ALNUM) for _ in range(36)))


for locale, frames in LOCALES.items():
    f = Faker(locale)

    def put(kind, value, frame=None):
        frame = frame or random.choice(frames)
        rows.append(f"+\t{locale}\t{kind}\t{frame.format('⟦' + value + '⟧')}")

    for _ in range(10):
        put("phone", f.phone_number())
    for _ in range(6):
        put("email", random.choice([f.email(), f.free_email(), f.company_email()]))
    for i in range(4):
        n = f.credit_card_number(random.choice(["visa16", "mastercard", "amex", "discover"]))
        if i % 2 and len(n) == 16:
            n = " ".join(n[j : j + 4] for j in range(0, 16, 4))
        put("card", n)
    for i in range(3):
        n = Faker(random.choice(["de_DE", "fr_FR", "es_ES", "it_IT", "pl_PL", "en_GB"])).iban()
        if i:
            n = " ".join(n[j : j + 4] for j in range(0, len(n), 4))
        put("iban", n)
    put("ip", f.ipv4_public())
    put("ip", f.ipv4_private())
    put("ip", f.ipv6())
    for _ in range(3):
        put("token", key())
    put("token", "eyJhbGciOiJIUzI1NiJ9." + "".join(random.choice(ALNUM) for _ in range(40)) + "." + "".join(random.choice(ALNUM) for _ in range(43)))

    def no(kind, value):
        rows.append(f"-\t{locale}\t{kind}\t{value}")

    for _ in range(4):
        no("order", f"Order {random.randint(10**9, 10**10)} is on its way")
    for _ in range(3):
        no("order", f"Ref: {random.randint(10**15, 10**16)}, pos. {random.randint(1, 99)}")
    for _ in range(4):
        no("uuid", f"Task {uuid.UUID(int=random.getrandbits(128), version=4)} is done")
    for _ in range(4):
        no("date", f.date("%Y-%m-%d"))
    no("date", f.date("%d.%m.%Y") + " 14:30")
    no("date", f.date("%d/%m/%Y") + " – " + f.date("%d/%m/%Y"))
    no("date", f.date_time().isoformat() + "Z")
    no("date", f.date("%Y%m%d"))
    for _ in range(3):
        no("version", f"v{random.randint(0, 20)}.{random.randint(0, 30)}.{random.randint(0, 300)}")
    no("version", f"version {random.randint(1, 9)}.{random.randint(0, 9)}.{random.randint(0, 9)}.{random.randint(0, 9)}")
    for _ in range(3):
        no("request", "req_" + "".join(random.choice("0123456789abcdef") for _ in range(12)))
    no("hash", "commit " + "".join(random.choice("0123456789abcdef") for _ in range(40)))
    no("amount", f"{random.randint(1, 999)},{random.randint(100, 999)},{random.randint(100, 999)}.{random.randint(10, 99)} €")
    no("amount", f"{random.randint(1, 99)} {random.randint(100, 999)} {random.randint(100, 999)} items")
    no("time", f"{random.randint(10, 23)}:{random.randint(10, 59)}:{random.randint(10, 59)}")
    no("name", f.name() + ", @" + f.user_name())

with open("personal.txt", "w", encoding="utf-8") as out:
    out.write("\n".join(rows) + "\n")
