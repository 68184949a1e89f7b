"""Two small Ink stories, compiled; the source of each is in the comment above it."""

import json

# # title: The Stall of Keys
# VAR coins = 2
# VAR bag = "empty"
# -> stall
# === stall
# A stall of <i>lost</i> keys. You have {coins} coin{coins != 1:s}. # stall
# * {coins > 0} [Buy the brass key.]
#     ~ coins = coins - 1
#     ~ bag = "heavy"
#     It fits nothing you own yet.
#     -> stall
# + {coins > 0} [Toss a coin into the well.]
#     ~ coins = coins - 1
#     It falls for a long time.
#     -> stall
# + [Walk on.] -> home
# === home
# {bag == "heavy": -> attic | -> shut}
# = attic
# The key opens the attic. # prize
# -> END
# = shut
# The attic stays shut.
# -> END
STALL = json.loads(r"""
{"inkVersion":20,"root":[[{"#":"title: The Stall of Keys"},{"->":"stall"},["done",{"#n":"g-0"}],
null],"done",{"stall":[["^A stall of <i>lost</i> keys. You have ","ev",{"VAR?":"coins"},"out","/ev",
"^ coin","ev",{"VAR?":"coins"},1,"!=","/ev",[{"->":".^.b","c":true},{"b":["^s",{"->":".^.^.^.12"},
null]}],"nop","^. ",{"#":"stall"},"\n","ev","str","^Buy the brass key.","/str",{"VAR?":"coins"},
0,">","/ev",{"*":".^.c-0","flg":21},"ev","str","^Toss a coin into the well.","/str",{"VAR?":"coins"},
0,">","/ev",{"*":".^.c-1","flg":5},"ev","str","^Walk on.","/str","/ev",{"*":".^.c-2","flg":4},{"c-0":["\n",
"ev",{"VAR?":"coins"},1,"-","/ev",{"VAR=":"coins","re":true},"ev","str","^heavy","/str","/ev",{"VAR=":"bag",
"re":true},"^It fits nothing you own yet.","\n",{"->":"stall"},{"#f":5}],"c-1":["\n","ev",{"VAR?":"coins"},
1,"-","/ev",{"VAR=":"coins","re":true},"^It falls for a long time.","\n",{"->":"stall"},null],"c-2":["^ ",
{"->":"home"},"\n",null]}],null],"home":["ev",{"VAR?":"bag"},"str","^heavy","/str","==","/ev",[{"->":".^.b",
"c":true},{"b":["^ ",{"->":"home.attic"},{"->":"home.9"},null]}],[{"->":".^.b"},{"b":["^ ",{"->":"home.shut"},
{"->":"home.9"},null]}],"nop","\n",{"attic":["^The key opens the attic. ",{"#":"prize"},"\n","end",
null],"shut":["^The attic stays shut.","\n","end",null]}],"global decl":["ev",2,{"VAR=":"coins"},
"str","^empty","/str",{"VAR=":"bag"},"/ev","end",null]}],"listDefs":{}}
""")

# VAR rings = 0
# -> tower
# === tower
# The bell has rung {rings} time{rings != 1:s}. {shuffle:A pigeon looks on.|The wind looks on.}
# + {rings < 3} [Ring the bell.]
#     ~ rings++
#     {RANDOM(1, 6) == 6: -> square}
#     Nobody hears.
#     -> tower
# + [Climb down.] -> yard
# === square
# The whole town looks up.
# -> END
# === yard
# You go home.
# -> END
TOWER = json.loads(r"""
{"inkVersion":20,"root":[[{"->":"tower"},["done",{"#n":"g-0"}],null],"done",{"tower":[["^The bell has rung ",
"ev",{"VAR?":"rings"},"out","/ev","^ time","ev",{"VAR?":"rings"},1,"!=","/ev",[{"->":".^.b","c":true},
{"b":["^s",{"->":".^.^.^.12"},null]}],"nop","^. ",["ev","visit",2,"seq","/ev","ev","du",0,"==","/ev",
{"->":".^.s0","c":true},"ev","du",1,"==","/ev",{"->":".^.s1","c":true},"nop",{"s0":["pop","^A pigeon looks on.",
{"->":".^.^.17"},null],"s1":["pop","^The wind looks on.",{"->":".^.^.17"},null],"#f":5}],"\n","ev",
"str","^Ring the bell.","/str",{"VAR?":"rings"},3,"<","/ev",{"*":".^.c-0","flg":5},"ev","str","^Climb down.",
"/str","/ev",{"*":".^.c-1","flg":4},{"c-0":["\n","ev",{"VAR?":"rings"},1,"+",{"VAR=":"rings","re":true},
"/ev","ev",1,6,"rnd",6,"==","/ev",[{"->":".^.b","c":true},{"b":["^ ",{"->":"square"},{"->":".^.^.^.15"},
null]}],"nop","\n","^Nobody hears.","\n",{"->":"tower"},null],"c-1":["^ ",{"->":"yard"},"\n",null]}],
null],"square":["^The whole town looks up.","\n","end",null],"yard":["^You go home.","\n","end",
null],"global decl":["ev",0,{"VAR=":"rings"},"/ev","end",null]}],"listDefs":{}}
""")
