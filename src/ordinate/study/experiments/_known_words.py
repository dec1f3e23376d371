"""Words that everybody knows, by what they are about: for a map that can be judged by looking."""

KNOWN = {
    kind: words.split()
    for kind, words in {
        "animals": "dog cat horse cow pig sheep chicken lion tiger bear wolf fox elephant monkey "
        "snake eagle fish shark whale rabbit mouse",
        "food and drink": "bread cheese butter milk rice pasta soup salad meat beef pork sugar "
        "salt apple orange lemon potato tomato wine beer coffee tea chocolate",
        "countries": "france germany italy spain poland russia china japan india brazil mexico "
        "canada egypt iran iraq turkey sweden australia",
        "cities": "london paris berlin rome madrid moscow beijing tokyo delhi chicago boston "
        "toronto cairo istanbul vienna sydney",
        "body and illness": "head eye ear nose mouth hand foot knee heart lung brain blood skin "
        "bone fever cancer malaria flu",
        "clothes": "shirt dress skirt coat hat shoes jacket trousers jeans gloves scarf boots",
        "sport": "football tennis golf basketball baseball hockey cricket rugby swimming boxing "
        "skiing cycling",
        "music": "piano guitar violin drums trumpet opera jazz rock orchestra singer song album",
        "jobs": "doctor nurse teacher lawyer judge soldier farmer baker carpenter engineer "
        "scientist painter",
        "feelings": "love hate joy anger fear hope sadness pride shame jealousy happiness grief",
        "travel": "car bus train plane ship bicycle truck taxi tram subway airport station",
        "science": "physics chemistry biology mathematics atom electron molecule planet galaxy "
        "star telescope gene",
    }.items()
}
